# The indexer as a container: Node, the compiled program and its run-time dependencies, without tools that compile,
# install or run a database. The embedded Postgres is omitted (67 MB): a container needs DATABASE_URL.
#
#   docker build --tag ledger-indexer:local --build-arg SOURCE_COMMIT="$(git rev-parse --short=12 HEAD)" .
#
# Stage `sandbox` is a separate image with the ledger of the demo, without the indexer.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY scripts/compile/package.json scripts/compile/
COPY packages/embedded-postgres/package.json packages/embedded-postgres/
COPY packages/lake/package.json packages/lake/
COPY packages/ledger-sandbox/package.json packages/ledger-sandbox/
# Dependencies for running and compiling. No package runs install scripts; none needs to.
RUN npm ci --ignore-scripts --omit=dev --no-audit --no-fund
COPY . .
ARG SOURCE_COMMIT=
# The program consists of the files of the npm package, which are listed in package.json.
RUN npm run --silent build \
  && npm pack --ignore-scripts --silent --pack-destination /tmp >/dev/null \
  && mkdir /app /data \
  && tar -xzf /tmp/ledger-indexer-[0-9]*.tgz -C /app --strip-components=1 \
  && npm pack --ignore-scripts --silent --workspace packages/ledger-sandbox --pack-destination /tmp >/dev/null \
  && mkdir /sandbox \
  && tar -xzf /tmp/ledger-indexer-sandbox-*.tgz -C /sandbox --strip-components=1 \
  && npm ci --ignore-scripts --omit=dev --omit=optional --workspace packages/ledger-sandbox --no-audit --no-fund \
  && rm node_modules/ledger-indexer-sandbox \
  && mv node_modules /sandbox/ \
  && npm ci --ignore-scripts --omit=dev --omit=optional --workspaces=false --no-audit --no-fund \
  # Dependencies of development, the sandbox or the lake: npm keeps them although neither is installed.
  && rm -rf node_modules/@types node_modules/undici-types node_modules/yaml node_modules/hyparquet node_modules/fflate \
  && mv node_modules /app/ \
  && mkdir /link && ln -s /app/dist/main.js /link/ledger-indexer

FROM ${NODE_IMAGE} AS sandbox
LABEL org.opencontainers.image.title="ledger-indexer-sandbox" \
  org.opencontainers.image.description="A ledger participant for demos and tests" \
  org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=build /sandbox /app
# Folder of its history, if it keeps one; a volume mounted here takes over the owner.
COPY --from=build --chown=65532:65532 /data /data
ENV NODE_ENV=production SANDBOX_HOST=0.0.0.0
USER 65532:65532
EXPOSE 7575
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/dist/main.js"]

FROM ${NODE_IMAGE}
ARG SOURCE_COMMIT=unknown
LABEL org.opencontainers.image.title="ledger-indexer" \
  org.opencontainers.image.description="Follows a ledger participant and keeps every event in Postgres, exactly once" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.revision="${SOURCE_COMMIT}"
WORKDIR /app
COPY --from=build /app /app
# For `docker exec … ledger-indexer status`.
COPY --from=build /link /usr/local/bin
COPY --from=build --chown=65532:65532 /data /data
# Loopback inside the container is not reachable from outside; publish the port only where it is needed.
ENV NODE_ENV=production INDEXER_HTTP_HOST=0.0.0.0 INDEXER_DATA_DIR=/data
# A numeric user, so that Kubernetes can verify that it is not root.
USER 65532:65532
EXPOSE 7580
STOPSIGNAL SIGTERM
# /livez and not /readyz: an unhealthy container is usually restarted, which helps only for failures that /livez
# reports. A standby, a seed, a parked indexer, and an unreachable ledger are not ready and must not be restarted.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.INDEXER_HTTP_PORT||7580}/livez`).then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
# Same arguments as `npm start`.
ENTRYPOINT ["node", "--max-semi-space-size=4", "/app/dist/main.js"]
CMD ["run"]
