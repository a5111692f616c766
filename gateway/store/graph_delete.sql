delete from graphs where tenant_id = $1 and session_id = $2 and id = $3
