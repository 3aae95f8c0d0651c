// The metrics of this process, by the SDK of OpenTelemetry. This file is imported only when METRICS_PORT is set.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { catalogue, type Labels, type Metric, type Metrics, printedName } from './catalogue.js'

/** How often the delay of the event loop is measured. Node counts this time as delay. */
const RESOLUTION_MS = 20
const NS_PER_S = 1e9

export const openMetrics = (version: string): Metrics => {
  // It reads the instruments and starts no server: the service has its own.
  const reader = new PrometheusExporter({ preventServerStart: true })
  const meter = new MeterProvider({ readers: [reader] }).getMeter('field-data-api')
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)

  const nameAndOptions = (name: string, { unit, meaning }: Metric) =>
    [printedName(name, unit), { description: meaning }] as const
  const recorders = new Map<string, (value: number, labels?: Labels) => void>()
  for (const [name, metric] of Object.entries<Metric>(catalogue)) {
    const [printed, options] = nameAndOptions(name, metric)
    if (metric.kind === 'counter') {
      const counter = meter.createCounter(printed, options)
      recorders.set(name, (value, labels) => counter.add(value, labels))
    } else if (metric.kind === 'histogram') {
      const advice = { explicitBucketBoundaries: [...metric.bounds] }
      const histogram = meter.createHistogram(printed, { ...options, advice })
      recorders.set(name, (value, labels) => histogram.record(value, labels))
    }
  }

  const metrics: Metrics = {
    record: (name, value, labels) => recorders.get(name)?.(value, labels),
    observe(name, read) {
      meter.createObservableGauge(...nameAndOptions(name, catalogue[name])).addCallback((result) => {
        const observed = read()
        if (typeof observed === 'number') result.observe(observed)
        else for (const [value, labels] of observed ?? []) result.observe(value, labels)
      })
    },
    async text() {
      const { resourceMetrics, errors } = await reader.collect()
      if (errors.length > 0) throw new AggregateError(errors, 'A metric cannot be read')
      return serializer.serialize(resourceMetrics)
    },
  }
  observeProcess(metrics)
  metrics.observe('field_data.build.info', () => [[1, { version, node: process.version }]])
  return metrics
}

const observeProcess = ({ observe }: Metrics): void => {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  const seconds = (ns: number) => Math.max(0, ns / NS_PER_S - RESOLUTION_MS / 1000)
  observe('nodejs.eventloop.delay.p99', () => seconds(delay.percentile(99)))
  observe('nodejs.eventloop.delay.max', () => {
    const longest = seconds(delay.max)
    // It is read after the other one.
    delay.reset()
    return longest
  })
  let before = performance.eventLoopUtilization()
  observe('nodejs.eventloop.utilization', () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    return utilization
  })
  observe('process.memory.usage', () => process.memoryUsage.rss())
}
