// Writes the pictures of /docs and /explore with the demo data to docs/images/. Usage: npm run screenshots. It needs Chromium.
import './compile.js'

const { buildApp } = await import('../dist/src/app.js')
const { loadConfig } = await import('../dist/src/core/config/config.js')
const { loadDemo } = await import('../dist/src/demo.js')
const { embeddedStore } = await import('../dist/src/core/store/embedded.js')
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
const isDone = () => performance.getEntriesByName('explore:complete').length > 0
/** What is done to get to the states of /explore that have pictures. @type {Record<string, (page: any) => Promise<unknown>>} */
const states = {
  usual: async () => {},
  loading: (page) => page.route('**/v1/exports/entries**', () => {}),
  form: async (page) => {
    await page.locator('#form button.bar').nth(1).dispatchEvent('click')
    await page.locator('#answers-words', { hasText: 'Press one' }).waitFor()
    if (page.viewportSize().width < 700) await page.locator('#to-answers').click()
  },
  selection: async (page) => {
    await page.locator('#status button.bar').first().click()
    await page.locator('#state button.bar').first().dispatchEvent('click')
    await page.locator('#time-from').fill('2024-10-01')
    await page.locator('#time-from').blur()
  },
  look: async (page) => {
    await page.locator('#to-second-look').click()
    await page.locator('#look-words', { hasText: 'a second look' }).waitFor()
  },
  agent: async (page) => {
    await states.look(page)
    await page.locator('#look-agents .bar').first().click()
    await page.locator('#look-words', { hasText: 'of the selected agent' }).waitFor()
  },
}
for (const { viewport, colorScheme } of screens) {
  for (const [state, work] of Object.entries(states)) {
    const name = [...(state === 'usual' ? [] : [state]), viewport.width, ...(colorScheme === 'dark' ? ['dark'] : [])]
    const isMobile = viewport.width < 700
    const page = await browser.newPage({ viewport, colorScheme, isMobile, hasTouch: isMobile })
    await showUsualAddress(page)
    if (state === 'loading') await work(page)
    await page.goto(`${ADDRESS}/explore#key=${demo.key}`)
    if (state === 'loading') await page.locator('#count', { hasText: 'Loading entries' }).waitFor()
    else {
      await page.waitForFunction(isDone)
      await page.waitForLoadState('networkidle')
      await work(page)
    }
    await page.waitForTimeout(300)
    await page.screenshot({ path: `docs/images/explore-${name.join('-')}.png` })
    await page.close()
  }
}
await browser.close()
await app.close()
