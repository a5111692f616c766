$(call module,shared/crypto,shared/base,libcrypto)
