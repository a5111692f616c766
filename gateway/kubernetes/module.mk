$(call module,gateway/kubernetes,shared/base shared/net shared/json shared/config shared/httpclient shared/telemetry)
