$(call module,worker/membership,shared/base shared/json shared/telemetry shared/httpclient shared/wire)
