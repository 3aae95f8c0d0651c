// Writes the pictures of /docs and /explore with the demo data to docs/images/. Usage: npm run screenshots. It needs Chromium.
import { spawnSync } from 'node:child_process'

const compiled = spawnSync(process.execPath, ['scripts/compile.js', 'tsconfig.json'], { stdio: 'inherit' })
if (compiled.status !== 0) process.exit(compiled.status ?? 1)

const { buildApp } = await import('../dist/src/app.js')
const { loadConfig } = await import('../dist/src/config/config.js')
const { loadDemo } = await import('../dist/src/demo.js')
const { embeddedStore } = await import('../dist/src/store/embedded.js')
const { screens, startBrowser } = await import('../dist/acceptance/support/browser.js')

const ADDRESS = 'http://127.0.0.1:3000'

const store = embeddedStore()
const [demo] = await loadDemo(store)
const app = await buildApp(loadConfig({ LOG_LEVEL: 'silent' }), store)
const browser = await startBrowser()

/** The pictures show the usual address, wherever the service listens. */
const showUsualAddress = (page) =>
  page.route(`${ADDRESS}/**`, async (route) => {
    const url = route.request().url().slice(ADDRESS.length)
    const { authorization } = route.request().headers()
    const { statusCode, headers, rawPayload } = await app.inject({ url, headers: authorization && { authorization } })
    await route.fulfill({ status: statusCode, headers, body: rawPayload })
  })

for (const { name, ...options } of screens) {
  const page = await browser.newPage(options)
  await showUsualAddress(page)
  await page.goto(`${ADDRESS}/docs`)
  await page.locator('.opblock').first().waitFor()
  await page.screenshot({ path: `docs/images/docs-${name}.png` })
  await page.goto(`${ADDRESS}/docs#/Entries/listEntries`)
  await page.locator('tr[data-param-name="perPage"]').waitFor()
  await page.locator('#operations-Entries-listEntries').evaluate((block) => block.scrollIntoView())
  await page.screenshot({ path: `docs/images/operation-${name}.png` })
  await page.close()
}
for (const { viewport, colorScheme } of screens.filter(({ colorScheme }) => colorScheme === 'light')) {
  const page = await browser.newPage({ viewport, colorScheme })
  await showUsualAddress(page)
  await page.goto(`${ADDRESS}/explore?status=accepted#key=${demo.key}`)
  await page.waitForFunction(() => performance.getEntriesByName('explore:complete').length > 0)
  await page.waitForLoadState('networkidle')
  await page.screenshot({ path: `docs/images/explore-${viewport.width}.png` })
  await page.close()
}
await browser.close()
await app.close()
