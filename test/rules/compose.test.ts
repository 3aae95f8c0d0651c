// What compose.yaml and the Dockerfile allow the containers, and how they work together. These tests need no Docker.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { buildApp } from '../../src/app.js'
import { loadConfig } from '../../src/config/config.js'
import { embeddedStore } from '../../src/store/embedded.js'

interface Service {
  image?: string
  cap_add?: string[]
  cap_drop?: string[]
  security_opt?: string[]
  read_only?: boolean
  pids_limit?: number
  mem_limit?: string
  logging?: { driver: string }
  restart?: string
  user?: string
  privileged?: boolean
  ports?: string[]
  volumes?: string[]
  init?: boolean
  environment?: Record<string, string>
  command?: string[]
  deploy?: { replicas: number }
  healthcheck?: { test: string[] }
}

const compose = readFileSync('compose.yaml', 'utf8')
const services = Object.entries((parse(compose, { merge: true }) as { services: Record<string, Service> }).services)
const members = services.filter(([name]) => name.startsWith('mongodb'))
const dockerfile = readFileSync('Dockerfile', 'utf8')
const image = dockerfile.split(/^(?=FROM )/m).at(-1) as string

t.test('every container is confined', async (t) => {
  t.equal(members.length, 3)
  for (const [name, service] of services) {
    t.same(service.cap_drop, ['ALL'], `${name} has no capabilities`)
    t.same(
      service.cap_add ?? [],
      name === 'proxy' ? ['NET_BIND_SERVICE'] : [],
      `${name} gets back only the capability that it needs`,
    )
    t.notOk(service.privileged, `${name} is not privileged`)
    t.same(service.security_opt, ['no-new-privileges:true'], `${name} gains no privileges`)
    t.equal(service.read_only, true, `${name} cannot change its files`)
    t.match(service.pids_limit, Number, `${name} has a limit on processes`)
    t.match(service.mem_limit, /^\d+[mg]$/, `${name} has a limit on memory`)
    t.equal(service.logging?.driver, 'local', `${name} has a log that does not fill the disk`)
    t.equal(service.restart, name === 'setup' ? 'no' : 'unless-stopped', `${name} is started again when it ends`)
    // The service has no user in compose.yaml: its image sets one.
    t.match(
      service.user ?? (service.image === undefined ? /^USER (.+)$/m.exec(image)?.[1] : undefined),
      /^(?!root|0)\w/,
      `${name} is not root`,
    )
  }
})

t.test('only the proxy publishes a port, and only on the loopback address', async (t) => {
  t.same(
    services.filter(([, { ports }]) => ports !== undefined).map(([name, { ports }]) => [name, ports]),
    [['proxy', ['127.0.0.1:3000:3000']]],
  )
})

t.test('no container mounts a folder or a socket of the host', async (t) => {
  for (const [name, { volumes = [] }] of services) {
    for (const volume of volumes) t.match(volume, /^\w/, `${name} has ${volume}`)
  }
})

t.test(
  'the database requires passwords, which compose.yaml takes from the environment and does not start without',
  async (t) => {
    for (const [name, { command }] of members) t.ok(command?.includes('--keyFile'), name)
    const secrets = services.flatMap(([service, { environment = {} }]) =>
      Object.entries(environment).flatMap(([name, value]) =>
        /PASSWORD|KEY|URI/.test(name) ? [[`${service}: ${name}`, value] as const] : [],
      ),
    )
    t.equal(secrets.length, 6)
    for (const [name, value] of secrets) t.match(value, /^(mongodb:\/\/[\w-]+:)?\$\{\w+:\?[^}]+\}/, name)
  },
)

t.test('the log has the address of the caller that the proxy names, and not that of the proxy', async (t) => {
  const [, api] = services.find(([name]) => name === 'api') as [string, Service]
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

t.test('the proxy asks every instance whether it is ready', async (t) => {
  const { proxy, api } = Object.fromEntries(services)
  const config = proxy?.command?.at(-1) ?? ''
  const replicas = Array.from(
    { length: api?.deploy?.replicas ?? 0 },
    (_, n) => `\${COMPOSE_PROJECT_NAME}-api-${n + 1}:3000`,
  )
  t.match(config, `reverse_proxy ${replicas.join(' ')} {`)
  t.match(config, 'health_uri /health/ready')
})

t.test('the health check of a service that does not respond can kill it', async (t) => {
  const [, api] = services.find(([name]) => name === 'api') as [string, Service]
  t.match(api.healthcheck?.test.at(-1), "process.kill(-1, 'SIGKILL')")
  t.equal(api.init, true)
})

t.test('the files of the image belong to root, and another user runs it', async (t) => {
  t.match(image, /^USER node$/m)
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
