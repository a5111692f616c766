# What people start. MODEL, FILE, PORT and RUN_ONCE are for tools/run_local, from the environment or the command line.
export MODEL FILE PORT RUN_ONCE
run:
	@tools/check_writable build var
	@tools/install_packages build run
	@$(MAKE) --no-print-directory $(PARALLEL) VARIANT=release all
	@tools/run_local
help: ; @sed -n 's/^# \(make.*\)/\1/p' Makefile
fresh: ; @tools/fresh
fresh-packages: ; @tools/fresh packages
.PHONY: run help fresh fresh-packages
