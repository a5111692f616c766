$(call module,gateway/cli,shared/base shared/crypto shared/json shared/tensor shared/config shared/httpclient gateway/formats)
$(call module,gateway/cli/commands,shared/base shared/crypto shared/json shared/tensor shared/config shared/httpclient gateway/cli)
