// What the containers may do: compose.yaml and the Dockerfile as they are written. No Docker is needed.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'

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
  healthcheck?: { test: string[] }
}

const compose = readFileSync('compose.yaml', 'utf8')
const services = Object.entries((parse(compose, { merge: true }) as { services: Record<string, Service> }).services)
const members = services.filter(([name]) => name.startsWith('mongodb'))
const image = readFileSync('Dockerfile', 'utf8')
  .split(/^(?=FROM )/m)
  .at(-1) as string

t.test('every container is confined', async (t) => {
  t.equal(members.length, 3)
  for (const [name, service] of services) {
    t.same(service.cap_drop, ['ALL'], `${name} has no capabilities`)
    t.same(
      service.cap_add ?? [],
      name === 'proxy' ? ['NET_BIND_SERVICE'] : [],
      `${name} has none back that it can do without`,
    )
    t.notOk(service.privileged, `${name} is not privileged`)
    t.same(service.security_opt, ['no-new-privileges:true'], `${name} gains no privileges`)
    t.equal(service.read_only, true, `${name} has files that it cannot change`)
    t.match(service.pids_limit, Number, `${name} has a limit of processes`)
    t.match(service.mem_limit, /^\d+[mg]$/, `${name} has a limit of memory`)
    t.equal(service.logging?.driver, 'local', `${name} has a log that does not fill the disk`)
    t.equal(service.restart, name === 'setup' ? 'no' : 'unless-stopped', `${name} is started again when it ends`)
    // The image of the service names its user itself.
    t.match(
      service.user ?? (service.image === undefined ? /^USER (.+)$/m.exec(image)?.[1] : undefined),
      /^(?!root|0)\w/,
      `${name} is not root`,
    )
  }
})

t.test('only the proxy is reached from outside, and only from this machine', async (t) => {
  t.same(
    services.filter(([, { ports }]) => ports !== undefined).map(([name, { ports }]) => [name, ports]),
    [['proxy', ['127.0.0.1:3000:3000']]],
  )
})

t.test('no container sees a folder or a socket of the machine', async (t) => {
  for (const [name, { volumes = [] }] of services) {
    for (const volume of volumes) t.match(volume, /^\w/, `${name} has ${volume}`)
  }
})

t.test('the database asks for passwords, which are not in the file and without which nothing starts', async (t) => {
  for (const [name, { command }] of members) t.ok(command?.includes('--keyFile'), name)
  const secrets = services.flatMap(([service, { environment = {} }]) =>
    Object.entries(environment).flatMap(([name, value]) =>
      /PASSWORD|KEY|URI/.test(name) ? [[`${service}: ${name}`, value] as const] : [],
    ),
  )
  t.equal(secrets.length, 6)
  for (const [name, value] of secrets) t.match(value, /^(mongodb:\/\/[\w-]+:)?\$\{\w+:\?[^}]+\}/, name)
})

t.test('what kills a silent instance can reach it', async (t) => {
  const [, api] = services.find(([name]) => name === 'api') as [string, Service]
  t.match(api.healthcheck?.test.at(-1), "process.kill(-1, 'SIGKILL')")
  t.equal(api.init, true)
})

t.test('the image gives its files to root and runs as somebody else', async (t) => {
  t.match(image, /^USER node$/m)
  t.notMatch(image, /--chown|\bchown\b/)
  // Whatever is copied or run after USER may belong to that user.
  t.notMatch(image.split(/^USER /m)[1], /^(COPY|ADD|RUN) /m)
})
