// Writes the pictures of /docs with the demo data to docs/images/. Usage: npm run screenshots. It needs Chromium.
import { spawnSync } from 'node:child_process'

const compiled = spawnSync(process.execPath, ['scripts/compile.js', 'tsconfig.json'], { stdio: 'inherit' })
if (compiled.status !== 0) process.exit(compiled.status ?? 1)

const { buildApp } = await import('../dist/src/app.js')
const { loadConfig } = await import('../dist/src/config/config.js')
const { loadDemo } = await import('../dist/src/demo.js')
const { embeddedStore } = await import('../dist/src/store/embedded.js')
const { screens, startBrowser } = await import('../dist/test/support/browser.js')

const ADDRESS = 'http://127.0.0.1:3000'

const store = embeddedStore()
await loadDemo(store)
const app = await buildApp(loadConfig({ LOG_LEVEL: 'silent' }), store)
const browser = await startBrowser()
for (const { name, ...options } of screens) {
  const page = await browser.newPage(options)
  // The pictures show the usual address, wherever the service listens.
  await page.route(`${ADDRESS}/**`, async (route) => {
    const { pathname } = new URL(route.request().url())
    const { statusCode, headers, rawPayload } = await app.inject(pathname)
    await route.fulfill({ status: statusCode, headers, body: rawPayload })
  })
  await page.goto(`${ADDRESS}/docs`)
  await page.locator('.opblock').first().waitFor()
  await page.screenshot({ path: `docs/images/docs-${name}.png` })
  await page.goto(`${ADDRESS}/docs#/Entries/listEntries`)
  await page.locator('tr[data-param-name="perPage"]').waitFor()
  await page.locator('#operations-Entries-listEntries').evaluate((block) => block.scrollIntoView())
  await page.screenshot({ path: `docs/images/operation-${name}.png` })
  await page.close()
}
await browser.close()
await app.close()
