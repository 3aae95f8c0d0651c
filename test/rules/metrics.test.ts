// The metrics that a running service prints are those of the catalogue, and docs/operating.md, the dashboard and the alerts
// know no others. promtool, in .ci/metrics, checks their form.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { parse } from 'yaml'
import { catalogue, type Metric, printedName } from '../../src/core/metrics/catalogue.js'
import { mongoStore } from '../../src/core/store/mongo.js'
import { testApp } from '../support/app.js'
import { sectionsOf } from '../support/markdown.js'
import { callOf, post } from '../support/mcp.js'
import { mongoSettings } from '../support/store.js'
import { A, fillTenants } from '../support/tenants.js'
import { WireServer } from '../support/wire-server.js'

const page = readFileSync('docs/operating.md', 'utf8')
const printed = Object.entries<Metric>(catalogue).map(([name, metric]) => ({
  ...metric,
  name: printedName(name, metric.unit) + (metric.kind === 'counter' ? '_total' : ''),
}))

t.test('docs/operating.md lists every metric as Prometheus shows it', async (t) => {
  const rows = printed.map(({ name, kind, meaning, labels = [] }) => {
    const names = labels.map((label) => `\`${label.replaceAll('.', '_')}\``).join(', ')
    return `| \`${name}\` | ${kind} | ${names === '' ? '' : `${names} `}| ${meaning} |`
  })
  const [, table = ''] = /\n\| Metric \|.*\n.*\n((?:\|.*\n)+)/.exec(page) ?? []
  t.same(table.trimEnd().split('\n'), rows)
})

t.test('a running service prints every metric with its labels, and no other', async (t) => {
  const server = await WireServer.for(t)
  await fillTenants(server.store)
  const store = mongoStore(mongoSettings(server.uri))
  t.teardown(() => store.close())
  const settings = { METRICS_PORT: '0', SYNC_SETTLE_MS: '0' }
  const { app, get, keyOf } = await testApp(t, { store, settings })
  for (const url of ['/v1/sync/entries', '/v1/exports/entries.csv', '/v1/nothing']) await get(url, A)
  await post(app, callOf('get_entry', { id: 'entry1-a' }), { authorization: `Bearer ${await keyOf(A)}` })
  // A key has one large task at once, so the other one waits.
  const { release } = server.hold('aggregate')
  const responses = [1, 2].map(() => get('/v1/entries?perPage=100', A))
  while (!/field_data_queue_(waiting\{size="large"\} 1|wait_seconds)/.test(`${await app.metrics?.text()}`))
    await setTimeout(5)
  release()
  await Promise.all(responses)
  const text = `${await app.metrics?.text()}`
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type])
  t.same(types.toSorted(), printed.map(({ name, kind }) => [name, kind]).toSorted())
  for (const { name, labels = [], kind } of printed) {
    const lines = [...text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?(?:\\{(.*)\\})? `, 'gm'))]
    const found = new Set(lines.flatMap(([, pairs = '']) => [...pairs.matchAll(/(\w+)="/g)].map(([, label]) => label)))
    if (kind === 'histogram') found.delete('le')
    t.same([...found].toSorted(), labels.map((label) => label.replaceAll('.', '_')).toSorted(), name)
  }
})

/** The names of time series, with those that Prometheus itself adds. */
const series = new Set([
  'up',
  ...printed.flatMap(({ name, kind }) =>
    kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((ending) => name + ending) : [name],
  ),
])
/** The labels of the service, and those that Prometheus adds. */
const labels = new Set([
  ...['job', 'instance', 'le', 'alertname', 'alertstate'],
  ...printed.flatMap(({ labels = [] }) => labels.map((label) => label.replaceAll('.', '_'))),
])

/** The metrics in an expression of Prometheus, and its labels: those in braces, and those that it is grouped by. */
const namesIn = (expression: string) => {
  const groups = [...expression.matchAll(/\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g)].map(([, names]) => `${names}`)
  const matched = [...expression.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => `${label}`)
  const metrics = expression
    .replace(/\{[^}]*\}|\[[^\]]*\]|\b(or|unless)\b|\b(by|on|without|ignoring)\s*\([^)]*\)/g, '')
    .replace(/\b[a-z_]+(?=\s*\()/g, '')
    .match(/[a-z_]\w*/g)
  return { metrics: metrics ?? [], labels: [...matched, ...groups.flatMap((names) => names.split(/[\s,]+/))] }
}

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[]
}

interface Alerts {
  groups: { rules: { alert: string; expr: string; annotations: { runbook: string } }[] }[]
}

t.test('the dashboard and the alerts know metrics and labels that the service has', async (t) => {
  const { panels } = JSON.parse(readFileSync('deploy/grafana/dashboard.json', 'utf8')) as Dashboard
  const { groups } = parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')) as Alerts
  const rules = groups.flatMap((group) => group.rules)
  const expressions = [
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
    ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ]
  const wrong = expressions.flatMap(([title, expression]) => {
    const names = namesIn(expression)
    const unknown = [
      ...names.metrics.filter((name) => !series.has(name)),
      ...names.labels.filter((name) => !labels.has(name)),
    ]
    return names.metrics.length === 0 ? [title] : unknown.map((name) => `${title}: ${name}`)
  })
  t.same(wrong, [])
  const sections = sectionsOf(readFileSync('docs/incidents.md', 'utf8'))
  for (const { alert, annotations } of rules) {
    const [, anchor = ''] = /; see docs\/incidents\.md#([\w-]+)$/.exec(annotations.runbook) ?? []
    t.match(sections.get(anchor), `\`${alert}\``, `${alert} leads to its section`)
  }
})
