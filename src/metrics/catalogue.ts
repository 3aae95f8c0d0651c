// Every metric of the service. Names and labels are those of OpenTelemetry's semantic conventions where they have one;
// those of the service itself begin with `field_data`. No label may hold what a caller chose, such as a path or an id.

export interface Metric {
  /** A histogram and a counter are recorded, a gauge is read when somebody asks for the metrics. */
  readonly kind: 'histogram' | 'counter' | 'gauge'
  readonly unit: 's' | 'By' | '1' | `{${string}}`
  readonly meaning: string
  readonly labels?: readonly string[]
  /** The bounds of a histogram. */
  readonly bounds?: readonly number[]
}

/** The bounds that the semantic conventions name, in seconds. */
const HTTP_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const DATABASE_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
/** From what compresses to nothing up to the largest response that is no stream. */
const BYTES = [1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]

export const catalogue = {
  'http.server.request.duration': {
    kind: 'histogram',
    unit: 's',
    meaning:
      'How long requests took. `http_route` is the pattern of the path, and missing if there is none. `error_type` is the code of the problem, or `aborted` if the caller left or was cut off; then there is no status.',
    labels: ['http.request.method', 'http.route', 'http.response.status_code', 'error.type'],
    bounds: HTTP_SECONDS,
  },
  'http.server.response.body.size': {
    kind: 'histogram',
    unit: 'By',
    meaning:
      'Size of the bodies that were sent, compressed if the caller allows it. A streamed one counts with its header.',
    labels: ['http.route'],
    bounds: BYTES,
  },
  'http.server.active_requests': {
    kind: 'gauge',
    unit: '{request}',
    meaning: 'Requests under way, with those that wait for their place.',
  },
  'db.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    meaning:
      'How long the database took, with the wait for a connection. `error_type` is the name of the error, such as `StoreUnavailable` and `QueryTimeout`.',
    labels: ['db.operation.name', 'db.collection.name', 'error.type'],
    bounds: DATABASE_SECONDS,
  },
  'db.client.connection.count': {
    kind: 'gauge',
    unit: '{connection}',
    meaning: 'Connections to MongoDB: `used` or `idle`.',
    labels: ['db.client.connection.state'],
  },
  'db.client.connection.max': {
    kind: 'gauge',
    unit: '{connection}',
    meaning: 'The most connections to each MongoDB server: `MONGODB_POOL_SIZE`.',
  },
  'db.client.connection.pending_requests': {
    kind: 'gauge',
    unit: '{request}',
    meaning: 'Operations that wait for a connection to MongoDB.',
  },
  'field_data.read': {
    kind: 'counter',
    unit: 'By',
    meaning: 'Bytes of documents that were read from the database, with those that others refer to.',
    labels: ['db.collection.name'],
  },
  'field_data.read.rows': {
    kind: 'counter',
    unit: '{row}',
    meaning: 'Documents that were read from the database, with those that others refer to.',
    labels: ['db.collection.name'],
  },
  'field_data.connections.open': { kind: 'gauge', unit: '{connection}', meaning: 'Connections from callers.' },
  'field_data.connections.refused': {
    kind: 'counter',
    unit: '{connection}',
    meaning: 'Connections from callers that were closed at once, because there are `MAX_CONNECTIONS`.',
  },
  'field_data.queue.running': {
    kind: 'gauge',
    unit: '{request}',
    meaning:
      'Tasks that have their place: `small` or `large` ones. A request is a task; a count may be one of its own.',
    labels: ['size'],
  },
  'field_data.queue.waiting': {
    kind: 'gauge',
    unit: '{request}',
    meaning: 'Tasks that wait for their place.',
    labels: ['size'],
  },
  'field_data.queue.wait': {
    kind: 'histogram',
    unit: 's',
    meaning: 'How long tasks waited for their place. One that did not have to wait does not count.',
    labels: ['size'],
    bounds: HTTP_SECONDS,
  },
  'field_data.response.memory': {
    kind: 'gauge',
    unit: 'By',
    meaning: 'Memory of the responses that their callers have not read yet.',
  },
  'field_data.response.memory.limit': {
    kind: 'gauge',
    unit: 'By',
    meaning: 'How much of it there may be: `RESPONSE_MEMORY_MB`.',
  },
  'field_data.totals.kept': { kind: 'gauge', unit: '{total}', meaning: 'Totals of lists that are kept.' },
  'field_data.totals.age': { kind: 'gauge', unit: 's', meaning: 'Age of the oldest of them.' },
  'field_data.feed.lag': {
    kind: 'gauge',
    unit: 's',
    meaning:
      'How old the newest write was that a majority of the replica set had, by the clock of the database, when a feed was last read. It is left out five minutes later. What has settled is older by `SYNC_SETTLE_MS`.',
  },
  'field_data.feed.waiting': { kind: 'gauge', unit: '{request}', meaning: 'Requests that wait for a change.' },
  'field_data.exports.running': { kind: 'gauge', unit: '{export}', meaning: 'Exports that are being sent.' },
  'field_data.keys.refused': {
    kind: 'counter',
    unit: '{request}',
    meaning:
      'Requests that were refused for their key: it is missing or `malformed`, `unknown`, `expired`, `revoked`, or its organisation is gone (`organisation_gone`).',
    labels: ['reason'],
  },
  'field_data.keys.ending': {
    kind: 'gauge',
    unit: '{key}',
    meaning:
      'Keys that end within 14 days and were used at this instance within an hour. A key that was rotated counts until its next use.',
  },
  'nodejs.eventloop.delay.p50': {
    kind: 'gauge',
    unit: 's',
    meaning: 'By how much the event loop was late since the metrics were last read: the median.',
  },
  'nodejs.eventloop.delay.p99': { kind: 'gauge', unit: 's', meaning: 'The same, the 99th percentile of the delays.' },
  'nodejs.eventloop.delay.max': { kind: 'gauge', unit: 's', meaning: 'The same, the longest delay.' },
  'nodejs.eventloop.utilization': {
    kind: 'gauge',
    unit: '1',
    meaning: 'Which part of the time the event loop was busy since the metrics were last read.',
  },
  'process.memory.usage': { kind: 'gauge', unit: 'By', meaning: 'Memory of the process.' },
  'field_data.build.info': {
    kind: 'gauge',
    unit: '{build}',
    meaning: '1, with the versions of the service and of Node.',
    labels: ['version', 'node'],
  },
} as const satisfies Record<string, Metric>

export type MetricName = keyof typeof catalogue

type NameOf<K extends Metric['kind']> = {
  [N in MetricName]: (typeof catalogue)[N]['kind'] extends K ? N : never
}[MetricName]

export type Labels = Readonly<Record<string, string | number>>

/** A value, or several with their labels. Undefined as long as there is none. */
export type Observed = number | undefined | readonly (readonly [value: number, labels: Labels])[]

/** What the parts of the service tell about themselves. */
export interface Metrics {
  /** Adds a value to a histogram or a counter. */
  record(name: NameOf<'histogram' | 'counter'>, value: number, labels?: Labels): void
  /** Says how to read a gauge. */
  observe(name: NameOf<'gauge'>, read: () => Observed): void
  /** All metrics, in the text format of Prometheus. */
  text(): Promise<string>
}

/** How Prometheus names units. */
const UNITS: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes', '1': '_ratio' }

/** The name that OpenTelemetry's rules for Prometheus give a metric, without the `_total` of a counter. */
export const printedName = (name: string, unit: string): string => name.replaceAll('.', '_') + (UNITS[unit] ?? '')
