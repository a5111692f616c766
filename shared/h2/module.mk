$(call module,shared/h2,shared/base shared/net,libnghttp2)
