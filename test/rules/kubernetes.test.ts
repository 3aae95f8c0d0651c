// The manifests of deploy/kubernetes against the package and the service. These tests need no cluster; .ci/kubernetes checks
// the form.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { loadConfig, Settings } from '../../src/core/config/config.js'
import { metricsServer } from '../../src/core/http/metrics-server.js'

interface Probe {
  httpGet: { path: string; port: string }
}

interface Container {
  image: string
  env: { name: string; value?: string; valueFrom?: object }[]
  ports: { name: string; containerPort: number }[]
  livenessProbe: Probe
  readinessProbe: Probe
  resources: { requests: { memory: string } }
  securityContext: object
}

interface Selecting {
  matchLabels: object
}

interface Specs {
  Deployment: {
    selector: Selecting
    template: {
      metadata: { labels: object }
      spec: { securityContext: object; terminationGracePeriodSeconds: number; containers: [Container] }
    }
  }
  Service: { selector: object; ports: { targetPort: string }[] }
  PodDisruptionBudget: { selector: Selecting }
  NetworkPolicy: { podSelector: Selecting; ingress: { ports: { port: string }[] }[] }
}

const manifests = parseAllDocuments(readFileSync('deploy/kubernetes/field-data-api.yaml', 'utf8')).map(
  (document) => document.toJS() as { kind: keyof Specs; spec: Specs[keyof Specs] },
)
const specOf = <K extends keyof Specs>(wanted: K) => manifests.find(({ kind }) => kind === wanted)?.spec as Specs[K]

const { selector, template } = specOf('Deployment')
const pod = template.spec
const [container] = pod.containers
const env = Object.fromEntries(container.env.map(({ name, value = 'mongodb://127.0.0.1/field-data' }) => [name, value]))

t.test('all manifests are about the pods of the deployment', async (t) => {
  const { labels } = template.metadata
  t.same(selector.matchLabels, labels)
  t.same(specOf('Service').selector, labels)
  t.same(specOf('PodDisruptionBudget').selector.matchLabels, labels)
  t.same(specOf('NetworkPolicy').podSelector.matchLabels, labels)
})

t.test('the container may do no more than in compose.yaml', async (t) => {
  t.match(pod.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
  t.match(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
})

t.test('it is the image of this version', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.ok(container.image.endsWith(`/field-data-api:${version}`))
})

t.test('the settings exist and start the service in production, and the URI of the database is a secret', async (t) => {
  for (const name of Object.keys(env)) t.ok(name in Settings.properties, name)
  t.match(loadConfig({ NODE_ENV: 'production', ...env }), { publicUrl: /^https:/, trustProxy: Array })
  t.match(container.env, [{ name: 'MONGODB_URI', valueFrom: { secretKeyRef: Object } }])
})

t.test('requests under way have 15 s to end after the delay, as docs/scaling.md says', async (t) => {
  t.equal(pod.terminationGracePeriodSeconds, 15 + Number(env.SHUTDOWN_DELAY_MS) / 1000)
})

t.test('the probes ask at the port of the metrics, and the network leads to ports of the image', async (t) => {
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]))
  const server = metricsServer({ text: async () => '', requireReady: async () => {} }, () => {})
  for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) {
    t.equal(httpGet.port, 'metrics')
    t.equal((await server.inject(httpGet.path)).statusCode, 200, httpGet.path)
  }
  const [, image] = /\bPORT=(\d+)/.exec(readFileSync('Dockerfile', 'utf8')) ?? []
  t.same(Object.values(ports).map(String), [image, env.METRICS_PORT])
  const used = [
    ...specOf('Service').ports.map(({ targetPort }) => targetPort),
    ...specOf('NetworkPolicy').ingress.flatMap(({ ports }) => ports.map(({ port }) => port)),
  ]
  for (const name of used) t.ok(name in ports, name)
})

t.test('the memory that is asked for holds the responses that nobody has read', async (t) => {
  const [, size, unit] = /^(\d+)(Mi|Gi)$/.exec(container.resources.requests.memory) ?? []
  const bytes = Number(size) * 1024 ** (unit === 'Gi' ? 3 : 2)
  t.ok(bytes >= 200 * 1024 ** 2 + loadConfig(env).responseMemory)
})
