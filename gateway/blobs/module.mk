$(call module,gateway/blobs,shared/base shared/crypto shared/json shared/httpclient shared/telemetry gateway/domain gateway/store gateway/jobs gateway/http gateway/resources)
