# What people start.
help: ; @sed -n 's/^# \(make.*\)/\1/p' Makefile
.PHONY: help
