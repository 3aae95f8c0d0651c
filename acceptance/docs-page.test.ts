// The documentation in a browser: people read it on any screen, paste their key and execute every operation. A short run has one
// screen and the main operations.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { embeddedStore } from '../src/core/store/embedded.js'
import { loadDemo } from '../src/demo.js'
import { listen, testApp } from '../test/support/app.js'
import { isThorough, onlyThorough } from '../test/support/thorough.js'
import { failOnErrors, isWithoutBrowser, overflow, screens, seriousFaults, startBrowser } from './support/browser.js'

const WIDE = { width: 1280, height: 900 }

/** One operation of each kind. */
const MAIN = ['getMe', 'listEntries', 'getEntry', 'summarizeEntries', 'syncEntries', 'exportEntries']

/** What is wrong in Swagger UI itself and cannot be mended from outside: buttons inside of buttons. */
const SWAGGER_UI_FAULTS = ['nested-interactive']

/** Opens the documentation in a browser that has not been there before, and waits until Swagger UI shows the operations. */
const openDocs = async (t: Test, browser: Browser, url: string, options: BrowserContextOptions): Promise<Page> => {
  const context = await browser.newContext(options)
  t.teardown(() => context.close())
  const page = await context.newPage()
  failOnErrors(t, page)
  page.on('console', (message) => t.not(message.type(), 'warning', message.text()))
  await page.goto(url)
  await page.locator('.opblock').first().waitFor()
  return page
}

const authorize = async (page: Page, key: string): Promise<void> => {
  await page.locator('.btn.authorize').click()
  const dialog = page.locator('.dialog-ux')
  if (await dialog.getByRole('button', { name: 'Remove authorization' }).isVisible()) {
    await dialog.getByRole('button', { name: 'Remove authorization' }).click()
  }
  await dialog.locator('#auth-bearer-value').fill(key)
  await dialog.getByRole('button', { name: 'Apply credentials' }).first().click()
  await dialog.locator('.btn-done').first().click()
}

/** Executes an operation with some parameters, and returns the status and the body of the response, and how it is shown. */
const execute = async (page: Page, operation: string, parameters: Record<string, string> = {}) => {
  const block = page.locator(`.opblock[id$="-${operation}"]`)
  // An event takes less time than a click, before which the page must stand still.
  const toggle = () => block.locator('.opblock-summary-control').dispatchEvent('click')
  await toggle()
  for (const [name, value] of Object.entries(parameters)) {
    await block.locator(`tr[data-param-name="${name}"] input`).fill(value)
  }
  const responded = page.waitForResponse((response) => /\/(v1|health)\//.test(response.url()))
  // Until then Swagger UI does not know the operation.
  await block.locator('.opblock-loading-animation').waitFor({ state: 'detached' })
  await block.locator('.execute').click()
  const response = await responded
  const live = block.locator('.live-responses-table .response')
  // The response of an earlier execution is shown until then.
  await live.locator('.response-col_status', { hasText: String(response.status()) }).waitFor()
  const result = {
    status: response.status(),
    shown: await live.locator('.highlight-code').first().innerText(),
    hasColours: (await live.locator('.highlight-code').first().locator('span').count()) > 0,
    curl: await block.locator('.curl').innerText(),
    body: await response.json(),
    authorization: response.request().headers().authorization,
  }
  await toggle()
  return result
}

/** Executes an operation that gives a file, in each of its formats, and returns what is shown of the file, by format. */
const executeFormats = async (page: Page, operation: string): Promise<Record<string, string>> => {
  const block = page.locator(`.opblock[id$="-${operation}"]`)
  await block.locator('.opblock-summary-control').dispatchEvent('click')
  const format = block.locator('tr[data-param-name="format"] select')
  await block.locator('.opblock-loading-animation').waitFor({ state: 'detached' })
  const shown: Record<string, string> = {}
  const formats = (await format.locator('option').allInnerTexts()).filter((option) => option !== '--')
  for (const name of formats.length > 0 ? formats : ['csv']) {
    if (formats.length > 0) await format.selectOption(name)
    await block.locator('.execute').click()
    const live = block.locator('.responses-inner').first()
    await live.locator('.request-url', { hasText: `.${name}` }).waitFor()
    await live.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
    shown[name] = await live.innerText()
  }
  return shown
}

// A browser that shares the processors with other tests is slow.
t.setTimeout(900_000)

t.test(
  'a browser shows the documentation (needs the Chromium of CHROMIUM_PATH)',
  { skip: isWithoutBrowser },
  async (t) => {
    const store = embeddedStore()
    const [demo] = await loadDemo(store)
    const key = String(demo?.key)
    const { app } = await testApp(t, { store, settings: { SYNC_SETTLE_MS: '0' } })
    const origin = `http://127.0.0.1:${await listen(app)}`
    const browser = await startBrowser()
    t.teardown(() => browser.close())
    const rarely = onlyThorough(t)

    await t.test('with a key, operations show data', async (t) => {
      const page = await openDocs(t, browser, origin, { viewport: WIDE })
      t.equal(page.url(), `${origin}/docs`, 'the address of the service leads to the documentation')
      await authorize(page, key)
      const all = Object.entries(app.swagger().paths ?? {})
      t.ok(all.length > 20)
      const operations = all.filter(([, item]) => isThorough || MAIN.includes(`${item?.get?.operationId}`))
      t.ok(operations.length >= MAIN.length)
      for (const [path, item] of operations) {
        const operationId = item?.get?.operationId
        // Files and what map programs read have responses of their own kind.
        if (/^\/v1\/(exports|ogc)|\.csv$/.test(path)) continue
        const isPage = /\/v1\/(sync\/)?\w+s$/.test(path)
        // An id in a path has an example.
        const { status, shown, curl, body } = await execute(page, `${operationId}`, { ...(isPage && { perPage: '2' }) })
        t.equal(status, 200, path)
        t.match(curl, "-H 'accept: application/json'", path)
        t.match(shown, '"success": true')
        t.ok(Array.isArray(body.data) ? body.data.length > 0 : body.data, `${path} has data`)
      }
      for (const operation of operations.flatMap(([path, item]) =>
        /exports|\.csv$/.test(path) ? item?.get?.operationId : [],
      )) {
        const shown = await executeFormats(page, `${operation}`)
        t.ok(Object.keys(shown).length >= (/^export/.test(`${operation}`) ? 3 : 1), operation)
        for (const [format, text] of Object.entries(shown)) {
          t.match(text, 'Download', `${operation} ${format}`)
          t.match(
            text,
            /^export/.test(`${operation}`) ? /curl -O -X 'GET'(?!.*accept:)/s : "'accept: text/csv'",
            format,
          )
        }
      }
    })

    await rarely('a large response is shown without colours, which take long', async (t) => {
      const page = await openDocs(t, browser, origin, { viewport: WIDE })
      await authorize(page, key)
      for (const [perPage, isColoured] of [
        ['2', true],
        ['1000', false],
      ] as const) {
        const { shown, hasColours, body } = await execute(page, 'listEntries', { perPage })
        t.equal(hasColours, isColoured, perPage)
        t.equal(body.data.length, Number(perPage))
        t.match(shown, body.data.at(-1).id)
      }
    })

    await rarely('a key is kept over a reload, may begin with Bearer, and may be wrong', async (t) => {
      const page = await openDocs(t, browser, `${origin}/docs`, { viewport: WIDE })
      await authorize(page, `Bearer ${key}`)
      t.match(await execute(page, 'getMe'), { status: 200, authorization: `Bearer ${key}` })
      await page.reload()
      t.match(await execute(page, 'getMe'), { status: 200, authorization: `Bearer ${key}` })
      await authorize(page, `'${key}'`)
      t.match(await execute(page, 'getMe'), { status: 200, authorization: `Bearer ${key}` }, 'quotes do not count')
      await authorize(page, 'fda_…')
      t.match(await execute(page, 'getMe'), { status: 401, shown: 'unauthorized' })
      await authorize(page, 'fda_wrong')
      t.match(await execute(page, 'getMe'), { status: 401, body: { code: 'unauthorized' }, shown: 'unauthorized' })
    })

    await rarely(
      'no request of the page opens the dialog of the browser, or sends a password that it knows',
      async (t) => {
        const context = await browser.newContext({ viewport: WIDE, httpCredentials: { username: '', password: key } })
        t.teardown(() => context.close())
        const page = await context.newPage()
        t.equal((await page.goto(`${origin}/v1/me`))?.status(), 200, 'the browser answers a Basic challenge')
        await page.addInitScript(`
        const real = window.fetch
        window.asked = []
        window.fetch = (url, options) => {
          asked.push(new Request(url, options).credentials)
          return real(url, options)
        }`)
        await page.goto(`${origin}/docs`)
        await page.locator('.opblock').first().waitFor()
        const challenged = page.waitForResponse(/v1/)
        t.match(await execute(page, 'getMe'), { status: 401, authorization: undefined })
        t.equal(await (await challenged).headerValue('www-authenticate'), 'Bearer')
        t.same(await page.evaluate('asked'), ['omit', 'omit'])
      },
    )

    await rarely('a link to an operation opens it, with the defaults and limits of its parameters', async (t) => {
      const page = await openDocs(t, browser, `${origin}/docs#/Entries/listEntries`, { viewport: WIDE })
      const row = page.locator('tr[data-param-name="perPage"]')
      await row.waitFor()
      t.equal(await row.locator('input').inputValue(), '50')
      t.match(await row.innerText(), 'maximum: 1000')
      t.match(await page.locator('#first-request').innerText(), `'${origin}/v1/me'`, 'the guide names this service')
    })

    await rarely('a link to a part of the guide shows that part, and a link within the page another one', async (t) => {
      const page = await openDocs(t, browser, `${origin}/docs#errors`, { viewport: WIDE })
      await page.waitForFunction("Math.abs(document.getElementById('errors').getBoundingClientRect().top) < 5")
      t.equal(page.url(), `${origin}/docs#errors`)
      await page.locator('nav a[href="#sorting"]').click()
      t.equal(page.url(), `${origin}/docs#sorting`)
      t.ok(await page.evaluate("Math.abs(document.getElementById('sorting').getBoundingClientRect().top) < 5"))
      await page.evaluate("location.hash = '#/Forms/getForm'")
      await page.locator('#operations-Forms-getForm.is-open').waitFor()
    })

    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ]) {
      await rarely(`a key can be typed in and an operation opened at once on ${viewport.width} pixels`, async (t) => {
        const page = await openDocs(t, browser, `${origin}/docs`, { viewport })
        for (const part of ['.btn.authorize', '.opblock']) {
          const box = await page.locator(part).first().boundingBox()
          t.ok(Number(box?.y) + Number(box?.height) <= viewport.height, `${part} is in sight`)
        }
        await page.locator('.btn.authorize').click()
        await page.keyboard.type(key)
        await page.keyboard.press('Enter')
        await page.locator('.btn-done').first().click()
        t.match(await execute(page, 'getMe'), { status: 200 }, 'the field of the key has the focus')
      })
    }

    for (const { name, ...options } of screens) {
      const run = name === 'wide-light' ? t.test : rarely
      await run(`the page can be read on a screen that is ${name.replace('-', ' and ')}`, async (t) => {
        const page = await openDocs(t, browser, `${origin}/docs#/Key/getMe`, options)
        await page.locator('.opblock-description p').waitFor()
        t.equal(await overflow(page), 0, 'nothing is beside the screen')
        await page.locator('.response .tab button', { hasText: 'Schema' }).first().click()
        const schema = page.locator('.response .model-example').first()
        t.ok(Number((await schema.boundingBox())?.width) > 250, 'a schema has the width of the screen')
        const reds = await page.evaluate(
          "[document.body, document.querySelector('.opblock-description p')].map((part) => parseInt(getComputedStyle(part).color.slice(4)))",
        )
        t.match(reds, [Number, Number])
        for (const red of reds as number[])
          t.equal(red > 128, options.colorScheme === 'dark', 'the text has the right colour')
        t.same(await seriousFaults(page, "{ exclude: '#swagger-ui' }"), [])
        await page.goto(`${origin}/docs/errors`)
        t.equal(await overflow(page), 0, 'so are the errors')
        t.same(await seriousFaults(page), [])
      })
    }

    await rarely(
      'the parts of Swagger UI have only those faults of accessibility that it has everywhere',
      async (t) => {
        for (const { colorScheme, viewport } of screens) {
          const page = await openDocs(t, browser, `${origin}/docs#/Entries/listEntries`, { colorScheme, viewport })
          await page.locator('.opblock-description p').first().waitFor()
          const found = await seriousFaults(page, "'#swagger-ui'")
          t.same(
            found.filter(({ id }) => !SWAGGER_UI_FAULTS.includes(id)),
            [],
          )
          await page.context().close()
        }
      },
    )

    await t.test('the page of the errors shows the one of the link, without a script', async (t) => {
      const context = await browser.newContext({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false })
      t.teardown(() => context.close())
      const page = await context.newPage()
      await page.goto(`${origin}/docs/errors#query_timeout`)
      t.match(await page.locator('dt:target').innerText(), 'query_timeout')
      await page.goto(`${origin}/docs`)
      t.match(await page.locator('noscript').innerText(), 'openapi.json')
    })
  },
)
