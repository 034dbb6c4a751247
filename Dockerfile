# docker build -t hloscope . && docker run --rm hloscope patterns
FROM debian:12 AS build
COPY . /src
WORKDIR /src
# Versions are the release's: Debian 12 keeps them, and security updates are wanted.
# hadolint ignore=DL3008
RUN apt-get update -q \
 && apt-get install -y -q --no-install-recommends make git ca-certificates \
 && make install PREFIX=/usr/local DESTDIR=/tree \
 && rm -rf /var/lib/apt/lists/*

FROM debian:12
# hadolint ignore=DL3008
RUN apt-get update -q \
 && apt-get install -y -q --no-install-recommends libllvm19 libopenblas0 libsqlite3-0 libzstd1 zlib1g libjansson4 libpcre2-8-0 libmicrohttpd12 python3 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /tree /
RUN ldconfig
ENTRYPOINT ["hloscope"]
