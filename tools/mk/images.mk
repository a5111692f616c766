# make image-root: the roots of the containers of gateway, worker and, where nvcc is, worker with CUDA, in build/images/, for any engine that takes a folder.
# make images: the images themselves, by buildah, from deploy/Containerfile. BASE= another Debian to build in, such as the one that
# make base-image makes where no registry is within reach. IMAGES_WANTED='gateway worker worker-cuda' for the one with CUDA, too, with
# CUDA_BASE=, CUDA_LIBRARIES=1, CUDA_ARCHS= as the Containerfile has them.
IMAGES := build/images
BASE ?= docker.io/library/debian:bookworm-slim
VERSION_TAG := $(shell cat VERSION)

image-root: all
	@BIN=$(OUT) tools/image_root sluice-gateway $(IMAGES)/gateway
	@BIN=$(OUT) tools/image_root sluice-worker $(IMAGES)/worker
	@$(if $(HAS_CUDA),BIN=$(OUT) CUDA=1 tools/image_root sluice-worker $(IMAGES)/worker-cuda,echo "skipped: worker-cuda, there is no nvcc")
	@du -sh $(IMAGES)/*
BASE_IMAGE := localhost/sluice-base:bookworm
base-image: ; @tools/base_image $(BASE_IMAGE)
IMAGES_WANTED ?= gateway worker
IMAGE_ARGUMENTS = $(foreach name,BASE CUDA_BASE CUDA_LIBRARIES CUDA_ARCHS,$(if $($(name)),--build-arg $(name)='$($(name))')) --build-arg VERSION=$(VERSION_TAG)
images:
	@for target in $(IMAGES_WANTED); do \
	    buildah --storage-driver vfs build --isolation chroot --layers $(IMAGE_ARGUMENTS) --target $$target \
	        --tag sluice-$$target:$(VERSION_TAG) -f deploy/Containerfile . || exit 1; \
	done
.PHONY: image-root images base-image
