# make image-root: the roots of the containers of gateway, worker and, where nvcc is, worker with CUDA, in build/images/, for any engine that takes a folder.
# make images: the images themselves, by buildah, from deploy/Containerfile; BASE= another Debian to build in.
IMAGES := build/images
BASE ?= docker.io/library/debian:bookworm-slim
VERSION_TAG := $(shell cat VERSION)

image-root: all
	@BIN=$(OUT) tools/image_root sluice-gateway $(IMAGES)/gateway
	@BIN=$(OUT) tools/image_root sluice-worker $(IMAGES)/worker
	@$(if $(HAS_CUDA),BIN=$(OUT) CUDA=1 tools/image_root sluice-worker $(IMAGES)/worker-cuda,echo "skipped: worker-cuda, there is no nvcc")
	@du -sh $(IMAGES)/*
images:
	@for target in gateway worker; do \
	    buildah build --isolation chroot --storage-driver vfs --build-arg BASE=$(BASE) --target $$target \
	        --tag sluice-$$target:$(VERSION_TAG) -f deploy/Containerfile . || exit 1; \
	done
.PHONY: image-root images
