-- What a next release could add, for tests of two releases side by side (tools/mk/test.mk).
-- usable from LAST
set local role sluice_owner;
set local search_path = sluice;

alter table steps add column next_note text not null default '';
