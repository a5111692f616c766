$(call module,shared/httpclient,shared/base,libcurl)
