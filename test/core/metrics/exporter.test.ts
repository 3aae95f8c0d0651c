// What OpenTelemetry makes of values: names and lines of Prometheus. test/rules/metrics.test.ts goes through all metrics.
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openMetrics } from '../../../src/core/metrics/exporter.js'

const linesOf = (text: string, name: string): string[] => text.split('\n').filter((line) => line.startsWith(name))

t.test('a value has its unit in its name, and a histogram its own bounds', async (t) => {
  const metrics = openMetrics('1.2.3')
  metrics.record('field_data.queue.wait', 0.06, { size: 'small' })
  metrics.record('field_data.read', 3, { 'db.collection.name': 'a"\n' })
  metrics.record('field_data.read', 4, { 'db.collection.name': 'a"\n' })
  metrics.observe('field_data.feed.lag', () => 1.5)
  metrics.observe('field_data.exports.running', () => undefined)
  metrics.observe('field_data.queue.running', () => [
    [1, { size: 'small' }],
    [2, { size: 'large' }],
  ])
  const text = await metrics.text()
  t.same(linesOf(text, 'field_data_read'), ['field_data_read_bytes_total{db_collection_name="a\\"\\n"} 7'])
  t.same(linesOf(text, 'field_data_feed'), ['field_data_feed_lag_seconds 1.5'])
  t.same(linesOf(text, 'field_data_exports'), [], 'there is no value yet')
  t.same(linesOf(text, 'field_data_queue_running'), [
    'field_data_queue_running{size="small"} 1',
    'field_data_queue_running{size="large"} 2',
  ])
  const wait = linesOf(text, 'field_data_queue_wait_seconds')
  t.ok(wait.includes('field_data_queue_wait_seconds_bucket{size="small",le="0.05"} 0'))
  t.ok(wait.includes('field_data_queue_wait_seconds_bucket{size="small",le="0.075"} 1'))
  t.same(linesOf(text, 'field_data_build_info'), [`field_data_build_info{version="1.2.3",node="${process.version}"} 1`])
})

t.test('a metric that cannot be read fails the reading, so that somebody notices', async (t) => {
  const metrics = openMetrics('1.2.3')
  metrics.observe('field_data.feed.lag', () => {
    throw new Error('broken')
  })
  await t.rejects(metrics.text(), { errors: [{ message: 'broken' }] })
})

t.test('a reading tells how late the event loop was since the one before', async (t) => {
  const metrics = openMetrics('1.2.3')
  const values = async () => {
    const text = await metrics.text()
    return (name: string) => Number(linesOf(text, name)[0]?.split(' ')[1])
  }
  // The first delay counts from a turn of the event loop that was measured.
  await setTimeout(100)
  // Most turns of the event loop are late, and one is very late.
  for (const ms of [300, ...Array(10).fill(30)]) {
    await setTimeout(1)
    const end = performance.now() + ms
    while (performance.now() < end);
  }
  await setTimeout(50)
  const [first, second] = [await values(), await values()]
  t.ok(first('nodejs_eventloop_delay_max_seconds') >= 0.25)
  t.ok(first('nodejs_eventloop_delay_p99_seconds') >= 0.25)
  t.ok(first('nodejs_eventloop_utilization_ratio') > 0.5)
  t.ok(first('process_memory_usage_bytes') > 1e6)
  t.ok(second('nodejs_eventloop_delay_max_seconds') < first('nodejs_eventloop_delay_max_seconds'))
})
