// The manifests of deploy/kubernetes against the Dockerfile, compose.yaml, the package and the service. These tests need no
// cluster; .ci/kubernetes checks the form.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig, Settings } from '../../src/config/config.js'
import { testApp } from '../support/app.js'

interface Probe {
  httpGet: { path: string; port: string }
}

interface Port {
  name: string
  containerPort: number
}

interface Container {
  image: string
  env: { name: string; value?: string; valueFrom?: object }[]
  ports: [Port, Port]
  livenessProbe: Probe
  readinessProbe: Probe
  lifecycle?: object
  resources: { requests: { memory: string }; limits: Record<string, string> }
  securityContext: object
}

interface Pod {
  automountServiceAccountToken: boolean
  securityContext: object
  terminationGracePeriodSeconds: number
  volumes?: object
  containers: [Container]
}

interface Deployment {
  replicas: number
  selector: { matchLabels: object }
  template: { metadata: { labels: object }; spec: Pod }
}

interface NetworkPolicy {
  podSelector: { matchLabels: object }
  policyTypes: string[]
  ingress: { from: object[]; ports: { port: string }[] }[]
  egress: { ports: { port: number }[] }[]
}

const manifests = parseAllDocuments(readFileSync('deploy/kubernetes/field-data-api.yaml', 'utf8')).map(
  (document) => document.toJS() as { kind: string; spec: unknown },
)
const specOf = <T>(wanted: string) => manifests.find(({ kind }) => kind === wanted)?.spec as T

const deployment = specOf<Deployment>('Deployment')
const { labels } = deployment.template.metadata
const pod = deployment.template.spec
const [container] = pod.containers
const settingOf = (wanted: string) => container.env.find(({ name }) => name === wanted)?.value
const dockerfile = readFileSync('Dockerfile', 'utf8')

const MIB = 1024 ** 2
const bytes = (size: string): number => Number.parseInt(size, 10) * (size.endsWith('Gi') ? 1024 * MIB : MIB)

t.test('all manifests are about the pods of the deployment', async (t) => {
  t.same(
    manifests.map(({ kind }) => kind),
    ['Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy'],
  )
  t.same(deployment.selector.matchLabels, labels)
  t.same(specOf<{ selector: object }>('Service').selector, labels)
  t.same(specOf<Deployment>('PodDisruptionBudget').selector.matchLabels, labels)
  t.same(specOf<NetworkPolicy>('NetworkPolicy').podSelector.matchLabels, labels)
})

t.test('one of two instances remains when a machine is emptied or the release changes', async (t) => {
  t.match(deployment, { replicas: 2, strategy: { rollingUpdate: { maxUnavailable: 0 } } })
  t.match(specOf('PodDisruptionBudget'), { maxUnavailable: 1 })
})

t.test('the container may do no more than in compose.yaml', async (t) => {
  t.match(pod.securityContext, { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } })
  t.match(dockerfile, /^USER node$/m)
  t.same(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  t.equal(pod.automountServiceAccountToken, false)
  t.equal(pod.volumes, undefined)
})

t.test('it is the image of this version', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.match(container.image, new RegExp(`/field-data-api:${version}$`))
})

t.test('the settings start the service in production, and the database is not among the manifests', async (t) => {
  t.match(container.env, [{ name: 'MONGODB_URI', valueFrom: { secretKeyRef: { key: 'MONGODB_URI' } } }])
  const env = Object.fromEntries(
    container.env.map(({ name, value = 'mongodb://127.0.0.1/field-data' }) => [name, value]),
  )
  for (const name of Object.keys(env)) t.ok(name in Settings.properties, name)
  t.match(loadConfig({ NODE_ENV: 'production', ...env }), { publicUrl: /^https:/, trustProxy: Array })
})

t.test('requests under way have as long to end as docs/scaling.md says, after the delay', async (t) => {
  t.equal(pod.terminationGracePeriodSeconds, 15 + Number(settingOf('SHUTDOWN_DELAY_MS')) / 1000)
  t.match(readFileSync('docs/scaling.md', 'utf8').replaceAll('\n  ', ' '), 'allow 15 s')
  t.equal(container.lifecycle, undefined)
})

t.test('the probes and the network lead to the port of the image, and to paths that exist', async (t) => {
  const [{ name, containerPort }, metrics] = container.ports
  t.match(dockerfile, new RegExp(`PORT=${containerPort}\\b[^]*^EXPOSE ${containerPort}$`, 'm'))
  const { app } = await testApp(t)
  for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) {
    t.equal(httpGet.port, name)
    t.equal((await app.inject(httpGet.path)).statusCode, 200, httpGet.path)
  }
  t.match(specOf('Service'), { ports: [{ targetPort: name }] })
  const { policyTypes, ingress, egress } = specOf<NetworkPolicy>('NetworkPolicy')
  t.same(policyTypes, ['Ingress', 'Egress'])
  t.match(ingress, [
    { from: [Object], ports: [{ port: name }] },
    { from: [Object], ports: [{ port: metrics.name }] },
  ])
  t.equal(String(metrics.containerPort), settingOf('METRICS_PORT'))
  const ports = egress.flatMap(({ ports }) => ports.map(({ port }) => port))
  t.same(ports, [53, 53, 27017])
})

t.test(
  'the memory is as in compose.yaml, and what is asked for holds the responses that nobody has read',
  async (t) => {
    const { services } = parse(readFileSync('compose.yaml', 'utf8'), { merge: true })
    const { requests, limits } = container.resources
    t.equal(bytes(limits.memory as string), Number.parseInt(services.api.mem_limit, 10) * 1024 * MIB)
    t.ok(bytes(requests.memory) >= 200 * MIB + loadConfig({}).responseMemory)
    t.notOk('cpu' in limits, 'the processor has no limit')
  },
)
