// What compose.yaml and the Dockerfile allow the containers, and how they work together. These tests need no Docker.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { buildApp } from '../../src/app.js'
import { loadConfig, Settings } from '../../src/core/config/config.js'
import { embeddedStore } from '../../src/core/store/embedded.js'

interface Service {
  image?: string
  user?: string
  privileged?: boolean
  ports?: string[]
  volumes?: string[]
  environment?: Record<string, string>
  command?: string[]
  deploy?: { replicas: number }
  healthcheck?: { test: string[] }
}

const { services } = parse(readFileSync('compose.yaml', 'utf8'), { merge: true }) as {
  services: Record<string, Service> & Record<'proxy' | 'api', Service>
}
const { proxy, api } = services
const dockerfile = readFileSync('Dockerfile', 'utf8')
const image = dockerfile.split(/^(?=FROM )/m).at(-1) as string

t.test('every container is confined, and is not root', async (t) => {
  for (const [name, service] of Object.entries(services)) {
    t.match(service, { cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'], read_only: true }, name)
    t.notOk(service.privileged, name)
    // The service has no user in compose.yaml: its image sets one.
    const user = service.user ?? (service.image === undefined ? /^USER (.+)$/m.exec(image)?.[1] : undefined)
    t.match(user, /^(?!root|0)\w/, name)
    for (const volume of service.volumes ?? []) t.match(volume, /^\w/, `${name} mounts nothing of the host: ${volume}`)
    if (service !== proxy) t.equal(service.ports, undefined, `${name} publishes no port`)
  }
  for (const port of proxy.ports ?? []) t.match(port, /^127\.0\.0\.1:/)
})

t.test('passwords come from the environment, and nothing starts without them', async (t) => {
  const secrets = Object.values(services).flatMap(({ environment = {} }) =>
    Object.entries(environment).filter(([name]) => /PASSWORD|KEY|URI/.test(name)),
  )
  t.ok(secrets.length > 0)
  for (const [name, value] of secrets) t.match(value, /^(mongodb:\/\/[\w-]+:)?\$\{\w+:\?[^}]+\}/, name)
})

t.test('the settings are those of the service', async (t) => {
  for (const name of Object.keys(api.environment ?? {})) t.ok(name in Settings.properties, name)
})

t.test('the log has the address of the caller that the proxy names, and not that of the proxy', async (t) => {
  const lines: { msg: string; ip: string }[] = []
  const log = { write: (line: string) => lines.push(JSON.parse(line)) }
  const config = loadConfig({ TRUST_PROXY: api.environment?.TRUST_PROXY })
  const app = await buildApp(config, embeddedStore(), log)
  t.teardown(() => app.close())
  const headers = { 'x-forwarded-for': '203.0.113.7' }
  for (const [remoteAddress, ip] of [
    ['172.18.0.6', '203.0.113.7'],
    ['192.168.16.6', '203.0.113.7'],
    ['10.89.0.6', '203.0.113.7'],
    ['fd00::6', '203.0.113.7'],
    ['203.0.113.9', '203.0.113.9'],
  ] as const) {
    await app.inject({ url: '/health/live', remoteAddress, headers })
    t.match(lines.at(-1), { msg: 'request', ip }, remoteAddress)
  }
})

t.test('the health is asked for at the port of the metrics', async (t) => {
  const { METRICS_PORT } = api.environment ?? {}
  t.match(proxy.command?.at(-1), `health_port ${METRICS_PORT}\n`)
  t.match(api.healthcheck?.test.at(-1), `http://127.0.0.1:${METRICS_PORT}/health/live`)
})

t.test('the proxy knows every instance', async (t) => {
  const names = Array.from(
    { length: api.deploy?.replicas ?? 0 },
    (_, n) => `\${COMPOSE_PROJECT_NAME}-api-${n + 1}:3000`,
  )
  t.ok(names.length > 1)
  t.match(proxy.command?.at(-1), `reverse_proxy ${names.join(' ')} {`)
})

t.test('the files of the image belong to root, and another user runs it', async (t) => {
  t.notMatch(image, /--chown|\bchown\b/)
  // Files that are copied or created after USER may belong to that user.
  t.notMatch(image.split(/^USER /m)[1], /^(COPY|ADD|RUN) /m)
})

t.test('.dockerignore lets in what the Dockerfile copies, and nothing else', async (t) => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) => `${paths}`.split(' '))
  const [everything, ...allowed] = readFileSync('.dockerignore', 'utf8').trim().split('\n')
  t.equal(everything, '*')
  t.same(allowed.toSorted(), copied.map((path) => `!${path}`).toSorted())
})

t.test('images of the same program have the same version, and the proxy is the one that is tested', async (t) => {
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => `${image}`)
  const images = new Set([...bases, ...Object.values(services).flatMap(({ image }) => image ?? [])])
  const programs = [...images].map((image) => image.split(':')[0])
  t.equal(new Set(programs).size, images.size, [...images].join())
  const [, caddy] = /caddy@v(\S+)/.exec(readFileSync('.ci/nightly', 'utf8')) ?? []
  t.ok(images.has(`caddy:${caddy}`))
})
