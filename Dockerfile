# syntax=docker/dockerfile:1
FROM node:24.21.0-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev
COPY tsconfig.json ./
COPY scripts/compile.js scripts/
COPY schemas schemas
COPY src src
COPY seed seed
COPY pages pages
COPY examples examples
RUN npm run build && npm prune --omit=dev --omit=optional && chmod -R a+rX pages examples

FROM node:24.21.0-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
# All of it belongs to root, so that the service cannot change itself. The first file has the mode of the machine that
# builds the image, the others have that of the stage above.
COPY --from=build --chmod=644 /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/pages pages
COPY --from=build /app/examples examples
USER node
EXPOSE 3000
# The heap needs no option: Node lets it take half of the memory that the container may use.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--enable-source-maps", "dist/src/server.js"]
