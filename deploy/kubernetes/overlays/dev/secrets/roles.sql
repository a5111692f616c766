-- The roles that gateways log in as, with a password: the first migration makes only those that are missing.
create role sluice_app login password 'a-password-for-development';
create role sluice_queue login password 'a-password-for-development';
create role sluice_auth login password 'a-password-for-development';
