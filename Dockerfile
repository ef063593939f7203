# For those who build with Docker; `make images` needs none. One image: docker build --target kerf-planner -t kerf-planner:dev .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH VERSION=dev
WORKDIR /src
COPY . .
ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath -buildvcs=false -tags grpcnotrace \
      -ldflags "-s -w -X github.com/kerf-dev/kerf/services/internal/boot.version=$VERSION" -o /out/ \
      ./services/planner/cmd/planner ./services/watcher/cmd/watcher ./services/actuator/cmd/actuator \
      ./services/kerf/cmd/kerf ./services/kerf/cmd/kerf-up ./test/awssim/cmd/awssim

FROM scratch AS base
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
ENV PATH=/usr/local/bin
USER 65532:65532

FROM base AS kerf-planner
COPY --from=build /out/planner /usr/local/bin/
ENTRYPOINT ["/usr/local/bin/planner"]

FROM base AS kerf-watcher
COPY --from=build /out/watcher /usr/local/bin/
ENTRYPOINT ["/usr/local/bin/watcher"]

FROM base AS kerf-actuator
COPY --from=build /out/actuator /usr/local/bin/
ENTRYPOINT ["/usr/local/bin/actuator"]

FROM base AS kerf-awssim
COPY --from=build /out/awssim /usr/local/bin/
ENTRYPOINT ["/usr/local/bin/awssim"]

FROM base AS kerf
COPY --from=build /out/kerf /out/kerf-up /usr/local/bin/
ENTRYPOINT ["/usr/local/bin/kerf"]
