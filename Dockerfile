# One image for the server, the worker, migrations and the admin command. Only the command differs.
#
#   docker build -t pennyblack .
#
# For a release, pin the base by digest and set file times, so that others can build the same image:
#
#   SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) docker build -t pennyblack \
#     --build-arg BASE=docker.io/library/node:24-bookworm-slim@sha256:... .
#
# Runs as an unprivileged user, works with a read-only file system, and contains no shell, npm or compiler.

ARG BASE=docker.io/library/node:24-bookworm-slim

FROM ${BASE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY server/package.json server/
COPY console/package.json console/
COPY docs/package.json docs/
COPY sdk/package.json sdk/
COPY cli/package.json cli/
COPY mcp/package.json mcp/
COPY overspend/package.json overspend/
COPY ai-sdk/package.json ai-sdk/
# Without optional packages, because the TypeScript compiler is an optional peer of cosmiconfig. Type declarations and source
# maps are a third of the size, and nothing reads them at run time.
RUN npm ci --omit=dev --omit=optional --workspace=server \
  && find node_modules -type d \( -name @types -o -name undici-types \) -prune -exec rm -r {} + \
  && find node_modules -type f \( -name '*.d.ts' -o -name '*.d.[cm]ts' -o -name '*.map' \) -delete

# The docs and the console.
FROM ${BASE} AS web
WORKDIR /app
COPY . .
RUN npm ci --workspace=docs --workspace=console && npm run build:web

# Node, the libraries it is linked with and their package records, which scanners and the SBOM read.
FROM ${BASE} AS runtime
COPY deploy/image/copy-runtime.sh /
RUN /copy-runtime.sh /runtime

FROM scratch
ARG BASE
LABEL org.opencontainers.image.title="pennyblack" \
  org.opencontainers.image.description="Prepaid web search API. 0.01 USD per search, charged only on success." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.base.name="${BASE}"
COPY --from=runtime /runtime /
# Inside a container the internal port would be unreachable on loopback. Publish it to private networks only.
ENV PATH=/usr/local/bin NODE_ENV=production PENNYBLACK_OPS_HOST=0.0.0.0 PENNYBLACK_OPS_PORT=9090
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY LICENSE NOTICE package.json ./
COPY server/package.json server/
COPY server/src server/src
COPY server/lenses server/lenses
COPY server/migrations server/migrations
COPY server/sql server/sql
COPY --from=web /app/docs/.vitepress/dist docs/.vitepress/dist
COPY --from=web /app/console/dist console/dist

# Numeric, so that Kubernetes can verify runAsNonRoot.
USER 1000:1000
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 CMD ["node", "server/src/healthcheck.ts"]
ENTRYPOINT ["node"]
CMD ["server/src/main.ts"]
