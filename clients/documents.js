// Writes the OpenAPI documents that the service sends into dist/: of the service, and of its part for map programs.
import { writeFileSync } from 'node:fs'
import { buildApp } from '../dist/src/app.js'
import { loadConfig } from '../dist/src/core/config/config.js'
import { embeddedStore } from '../dist/src/core/store/embedded.js'
import { loadDemo } from '../dist/src/demo.js'

const store = embeddedStore()
const [{ key }] = await loadDemo(store)
const app = await buildApp(loadConfig({ LOG_LEVEL: 'silent', PUBLIC_URL: 'https://field-data.test' }), store)
for (const [file, url] of Object.entries({ 'openapi.json': '/openapi.json', 'ogc.json': '/v1/ogc/api' })) {
  const { body } = await app.inject({ url, headers: { authorization: `Bearer ${key}` } })
  writeFileSync(new URL(`dist/${file}`, import.meta.url), body)
}
await app.close()
