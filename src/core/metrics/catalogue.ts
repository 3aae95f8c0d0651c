// Every metric of the service. Names and labels are those of OpenTelemetry's semantic conventions where they have one;
// those of the service itself begin with `field_data`. No label may hold what a caller chose, such as a path or an id.

/** A histogram and a counter are recorded, a gauge is read when somebody asks for the metrics. */
export type Metric = ReturnType<typeof gauge | typeof counter | typeof histogram>

type Unit = 's' | 'By' | '1' | `{${string}}`

/** The bounds that the semantic conventions name, in seconds. */
const HTTP_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const DATABASE_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
/** From what compresses to nothing up to the largest response that is no stream. */
const BYTES = [1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]

const gauge = (unit: Unit, meaning: string, labels: readonly string[] = []) =>
  ({ kind: 'gauge', unit, meaning, labels }) as const

const counter = (unit: Unit, meaning: string, labels: readonly string[] = []) =>
  ({ kind: 'counter', unit, meaning, labels }) as const

const histogram = (unit: Unit, bounds: readonly number[], meaning: string, labels: readonly string[]) =>
  ({ kind: 'histogram', unit, bounds, meaning, labels }) as const

export const catalogue = {
  'http.server.request.duration': histogram(
    's',
    HTTP_SECONDS,
    'How long requests took. `http_route` is the pattern of the path, and missing if there is none. `error_type` is the code of the problem, or `aborted` if the caller left or was cut off; then there is no status. `gen_ai_tool_name` is the tool that an assistant called at `/mcp`.',
    ['http.request.method', 'http.route', 'gen_ai.tool.name', 'http.response.status_code', 'error.type'],
  ),
  'http.server.response.body.size': histogram(
    'By',
    BYTES,
    'Size of the bodies that were sent, compressed if the caller allows it. A streamed one counts with its header.',
    ['http.route'],
  ),
  'http.server.active_requests': gauge('{request}', 'Requests under way, with those that wait for their turn.'),
  'db.client.operation.duration': histogram(
    's',
    DATABASE_SECONDS,
    'How long the database took, with the wait for a connection. `error_type` is the name of the error, such as `StoreUnavailable` and `QueryTimeout`.',
    ['db.operation.name', 'db.collection.name', 'error.type'],
  ),
  'db.client.connection.count': gauge('{connection}', 'Connections to MongoDB: `used` or `idle`.', [
    'db.client.connection.state',
  ]),
  'db.client.connection.pending_requests': gauge('{request}', 'Operations that wait for a connection to MongoDB.'),
  'field_data.read': counter(
    'By',
    'Bytes of documents that were read from the database, with those that others refer to.',
    ['db.collection.name'],
  ),
  'field_data.read.rows': counter(
    '{row}',
    'Documents that were read from the database, with those that others refer to.',
    ['db.collection.name'],
  ),
  'field_data.connections.open': gauge('{connection}', 'Connections from callers.'),
  'field_data.connections.refused': counter(
    '{connection}',
    'Connections from callers that were closed at once, because there are `MAX_CONNECTIONS`.',
  ),
  'field_data.queue.running': gauge(
    '{request}',
    'Tasks that run: `small` or `large` ones. A request is a task; a count may be one of its own.',
    ['size'],
  ),
  'field_data.queue.waiting': gauge('{request}', 'Tasks that wait for their turn.', ['size']),
  'field_data.queue.wait': histogram(
    's',
    HTTP_SECONDS,
    'How long tasks waited for their turn. One that did not have to wait does not count.',
    ['size'],
  ),
  'field_data.response.memory': gauge(
    '1',
    'Which part of `RESPONSE_MEMORY_MB` is taken by responses that their callers have not read yet.',
  ),
  'field_data.feed.lag': gauge(
    's',
    'How old the newest write was that a majority of the replica set had, by the clock of the database, when a feed was last read. It is left out five minutes later. What has settled is older by `SYNC_SETTLE_MS`.',
  ),
  'field_data.feed.waiting': gauge('{request}', 'Requests that wait for a change.'),
  'field_data.exports.running': gauge('{export}', 'Exports that are being sent.'),
  'field_data.keys.refused': counter(
    '{request}',
    'Requests that were refused for their key: it is missing or `malformed`, `unknown`, `expired`, `revoked`, not for this address (`wrong_address`), or its organisation is gone (`organisation_gone`).',
    ['reason'],
  ),
  'field_data.keys.ending': gauge(
    '{key}',
    'Keys that end within 14 days and were used at this instance within an hour. A key that was rotated counts until its next use.',
  ),
  'nodejs.eventloop.delay.p99': gauge(
    's',
    'By how much the event loop was late since the metrics were last read: the 99th percentile of the delays.',
  ),
  'nodejs.eventloop.delay.max': gauge('s', 'The same, the longest delay.'),
  'nodejs.eventloop.utilization': gauge(
    '1',
    'Which part of the time the event loop was busy since the metrics were last read.',
  ),
  'process.memory.usage': gauge('By', 'Memory of the process.'),
  'field_data.build.info': gauge('{build}', '1, with the versions of the service and of Node.', ['version', 'node']),
} as const satisfies Record<string, Metric>

type NameOf<K extends Metric['kind']> = {
  [N in keyof typeof catalogue]: (typeof catalogue)[N]['kind'] extends K ? N : never
}[keyof typeof catalogue]

export type Labels = Readonly<Record<string, string | number>>

/** A value, or several with their labels. Undefined as long as there is none. */
export type Observed = number | undefined | readonly (readonly [value: number, labels: Labels])[]

export interface Metrics {
  record(name: NameOf<'histogram' | 'counter'>, value: number, labels?: Labels): void
  observe(name: NameOf<'gauge'>, read: () => Observed): void
  /** All metrics, in the text format of Prometheus. */
  text(): Promise<string>
}

const UNITS: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes', '1': '_ratio' }

/** The name that OpenTelemetry's rules for Prometheus give a metric, without the `_total` of a counter. */
export const printedName = (name: string, unit: string): string => name.replaceAll('.', '_') + (UNITS[unit] ?? '')
