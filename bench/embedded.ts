// The times of HTTP requests to the service on the embedded store: on loopback, one request at a time, in one run.
import { Agent, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildApp } from '../src/app.js'
import { loadConfig } from '../src/core/config/config.js'
import { embeddedStore } from '../src/core/store/embedded.js'
import { loadDemo } from '../src/demo.js'

/** Prints the median and the 99th percentile of each kind of request. */
export const benchEmbedded = async (entries: number, requests: number): Promise<void> => {
  const store = embeddedStore()
  const [demo] = await loadDemo(store, { seed: 42, organisations: 1, dispatches: 200, entries })
  const app = await buildApp(loadConfig({ LOG_LEVEL: 'silent', PORT: '0' }), store)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${demo?.key}` }

  /** The body of a response. Rejects unless it is a 200. */
  const bodyOf = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = get({ port, path, agent, headers }, (response) => {
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => (response.statusCode === 200 ? resolve(body) : reject(new Error(`${path}: ${body}`))))
      })
      request.on('error', reject)
    })

  const idOf = async (path: string): Promise<string> => JSON.parse(await bodyOf(path)).data[0].id

  const entry = await idOf(`/v1/entries?page=${Math.ceil(entries / 2)}&perPage=1`)
  const dispatch = await idOf('/v1/dispatches?status=dispatched&perPage=1')
  const project = await idOf('/v1/projects?perPage=1')

  const cases: Record<string, string> = {
    'entries, page of 50': '/v1/entries',
    'entries, last page of 50': `/v1/entries?page=${Math.ceil(entries / 50)}`,
    'entries by createdAt, descending': '/v1/entries?sortBy=createdAt&sortOrder=desc',
    'entries of a status, by duration': '/v1/entries?status=rejected&sortBy=duration',
    'entries of a dispatch': `/v1/entries?dispatch=${dispatch}`,
    'entries, page of 1000': '/v1/entries?perPage=1000',
    'dispatches, page of 50': '/v1/dispatches',
    'projects, page of 50': '/v1/projects',
    'entry by id': `/v1/entries/${entry}`,
    'dispatch by id': `/v1/dispatches/${dispatch}`,
    'project by id': `/v1/projects/${project}`,
  }

  console.log(`Embedded store, ${entries} entries, Node ${process.version}, ${requests} requests each after a warm-up`)
  console.log(`${'request'.padEnd(36)}${'median ms'.padStart(10)}${'p99 ms'.padStart(10)}${'KiB'.padStart(10)}`)
  for (const [name, path] of Object.entries(cases)) {
    const size = Buffer.byteLength(await bodyOf(path))
    for (let i = 0; i < requests / 5; i++) await bodyOf(path)
    const times: number[] = []
    for (let i = 0; i < requests; i++) {
      const start = performance.now()
      await bodyOf(path)
      times.push(performance.now() - start)
    }
    times.sort((a, b) => a - b)
    const at = (share: number) => (times[Math.floor(share * (times.length - 1))] as number).toFixed(2).padStart(10)
    console.log(`${name.padEnd(36)}${at(0.5)}${at(0.99)}${(size / 1024).toFixed(1).padStart(10)}`)
  }

  agent.destroy()
  await app.close()
  await store.close()
}
