# One image for the server, the worker, migrations and the admin command. Only the command differs.
#
#   docker build -t pennyblack .
#
# Runs as an unprivileged user, works with a read-only file system, and needs no shell.

FROM docker.io/library/node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY server/package.json server/
COPY console/package.json console/
COPY docs/package.json docs/
COPY sdk/package.json sdk/
COPY cli/package.json cli/
COPY mcp/package.json mcp/
RUN npm ci --omit=dev --workspace=server

# The docs and the console.
FROM docker.io/library/node:24-bookworm-slim AS web
WORKDIR /app
COPY . .
RUN npm ci --workspace=docs --workspace=console && npm run build:web

FROM docker.io/library/node:24-bookworm-slim
LABEL org.opencontainers.image.title="pennyblack" \
  org.opencontainers.image.description="Prepaid web search API. 0.01 USD per search, charged only on success." \
  org.opencontainers.image.licenses="Apache-2.0"
# Inside a container the internal port would be unreachable on loopback. Publish it to private networks only.
ENV NODE_ENV=production PENNYBLACK_OPS_HOST=0.0.0.0
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY LICENSE package.json ./
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
