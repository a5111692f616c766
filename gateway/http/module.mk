$(call module,gateway/http,shared/base shared/gzip shared/json shared/net shared/telemetry gateway/jobs,libmicrohttpd)
