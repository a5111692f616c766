select task, name, type, memory_bytes, attributes::text
from devices
order by task, name
limit 10000
