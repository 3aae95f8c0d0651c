// The page /explore in a browser: what people select is what they get as a file, on any screen, whatever the data are. A short
// run has a wide screen alone.
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { buildApp } from '../src/app.js'
import { loadConfig } from '../src/core/config/config.js'
import { keysOf } from '../src/core/keys/keys.js'
import { embeddedStore } from '../src/core/store/embedded.js'
import type { Store } from '../src/core/store/store.js'
import { loadDemo } from '../src/demo.js'
import { listen } from '../test/support/app.js'
import { readCsv } from '../test/support/csv.js'
import { tenant } from '../test/support/tenants.js'
import { onlyThorough } from '../test/support/thorough.js'
import { sheetRows, unzip } from '../test/support/xlsx.js'
import { failOnErrors, isWithoutBrowser, loadFew, overflow, seriousFaults, startBrowser } from './support/browser.js'

const WIDE = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }
const WEEK = 7 * 86_400_000
const HTML = `<img src=x onerror="alert(1)"><script>alert(2)</script>'";</td>`
/** How many entries of the hostile organisation are as usual. */
const PLAIN = 40
const ARABIC = '\u202eمسح المياه\u202c \u2067الآبار'

/** What stands between browser and service. It breaks exports off, or answers in the place of the service. */
class Way {
  #broken: ServerResponse[] = []
  /** The exports whose path it matches stop in their midst. */
  stops: RegExp | undefined
  isBusy = false

  listen = async (t: Test, port: number): Promise<string> => {
    const server = createServer((asked, answer) => this.#pass(port, asked, answer))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close().closeAllConnections())
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`
  }

  /** Ends the connections of the exports that have stopped. */
  break(): void {
    for (const answer of this.#broken.splice(0)) answer.destroy()
  }

  #pass(port: number, { url = '', headers, method }: IncomingMessage, answer: ServerResponse): void {
    if (this.isBusy && url.startsWith('/v1/')) {
      answer.writeHead(503, { 'retry-after': '7' }).end()
      return
    }
    const stops = this.stops?.test(url) === true
    const { 'accept-encoding': _, ...plain } = headers
    request({ port, path: url, method, headers: stops ? plain : headers }, (response) => {
      answer.writeHead(response.statusCode as number, response.headers)
      if (!stops) return response.pipe(answer)
      response.once('data', (chunk: Buffer) => {
        response.destroy()
        answer.write(chunk.subarray(0, chunk.length / 2))
        this.#broken.push(answer)
      })
    }).end()
  }
}

interface Opened {
  page: Page
  /** Everything that was requested. */
  requested: { url: string; headers: Record<string, string> }[]
}

const open = async (t: Test, browser: Browser, url: string, options: BrowserContextOptions): Promise<Opened> => {
  const context = await browser.newContext({ acceptDownloads: true, ...options })
  t.teardown(() => context.close())
  const page = await context.newPage()
  failOnErrors(t, page)
  const requested: Opened['requested'] = []
  page.on('request', (request) => requested.push({ url: request.url(), headers: request.headers() }))
  await page.goto(url)
  return { page, requested }
}

const typeKey = async (page: Page, key: string): Promise<void> => {
  await page.locator('#key').fill(key)
  await page.locator('#key').press('Enter')
}

/** Waits until everything is there. */
const complete = (page: Page) => page.waitForFunction(() => performance.getEntriesByName('explore:complete').length > 0)

/** Waits until a part of the page has a text. */
const shows = (page: Page, part: string, text: string | RegExp) =>
  page.locator(part, { hasText: text }).first().waitFor()

/** The number at the top, of how many. */
const counts = async (page: Page): Promise<number[]> =>
  ((await page.locator('#count').innerText()).match(/[\d,]+/g) ?? []).map((text) => Number(text.replaceAll(',', '')))

const addressOf = (page: Page) => new URL(page.url()).searchParams

/** No serious fault, and nothing beside the screen. */
const isAccessible = async (t: Test, page: Page, state: string): Promise<void> => {
  t.same(await seriousFaults(page), [], state)
  t.equal(await overflow(page), 0, `${state}: nothing is beside the screen`)
}

const isAccessibleInBoth = async (t: Test, page: Page, state: string): Promise<void> => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await isAccessible(t, page, `${state}, ${colorScheme}`)
  }
}

/** Presses a button of the menu of downloads. */
const pressDownload = async (page: Page, format: string): Promise<void> => {
  await page.locator('#download').click()
  await page.locator(`#download-${format}`).click()
}

/** On a small screen, most filters are behind a line that opens them. */
const openFilters = async (page: Page): Promise<void> => {
  const line = page.locator('#more-filters summary')
  if (await line.isVisible()) await line.click()
}

/** Presses a button that downloads, and returns the file. */
const download = async (page: Page, format: string): Promise<Buffer> => {
  const downloaded = page.waitForEvent('download')
  await pressDownload(page, format)
  return readFileSync(await (await downloaded).path())
}

/** Brushes some pixels of the time line, from its middle on, by mouse or by touch. */
const brush = async (page: Page, pixels: number, isTouch: boolean): Promise<void> => {
  const overlay = page.locator('#time-view .overlay')
  await overlay.scrollIntoViewIfNeeded()
  const { x, y, width, height } = (await overlay.boundingBox()) as { [name in 'x' | 'y' | 'width' | 'height']: number }
  const places = [0, pixels / 2, pixels].map((by) => ({ x: x + width * 0.55 + by, y: y + height / 2 }))
  if (isTouch) {
    const session = await page.context().newCDPSession(page)
    for (const [index, place] of places.entries()) {
      const type = index === 0 ? 'touchStart' : 'touchMove'
      await session.send('Input.dispatchTouchEvent', { type, touchPoints: [place] })
    }
    await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
    return
  }
  const [begin, ...rest] = places as [{ x: number; y: number }, ...{ x: number; y: number }[]]
  await page.mouse.move(begin.x, begin.y)
  await page.mouse.down()
  for (const place of rest) await page.mouse.move(place.x, place.y)
  await page.mouse.up()
}

/** Goes on with Tab until a part of the page has the focus. */
const tabTo = async (page: Page, part: string): Promise<void> => {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(part)})`)) return
  }
  throw new Error(`No Tab leads to ${part}`)
}

/** An organisation whose names, answers and places are what no one expects. */
const fillHostile = async (store: Store): Promise<string> => {
  const organisation = 'hostile'
  const { agent, project, dispatch, form, user, entry } = tenant(organisation, 'h')
  const now = new Date(Date.UTC(2025, 0, 1))
  const long = 'endless'.repeat(2000)
  await store.insert('organisations', [{ _id: organisation, name: HTML, createdAt: now, updatedAt: now }])
  await store.insert('users', [user])
  await store.insert('agents', [{ ...agent(1), firstName: HTML, lastName: long }])
  await store.insert('forms', [{ ...form, name: ARABIC }])
  await store.insert('projects', [{ ...project(1), name: long }])
  await store.insert('dispatches', [dispatch(1, { name: HTML })])
  const places: readonly (readonly [longitude: number, latitude: number])[] = [
    [0, 90],
    [0, -90],
    [180, 0],
    [-180, 0],
    [181, 0],
    [0, -91],
    [1e308, -1e308],
    [0, 0],
    [Number.NaN, 0],
    [0, Number.POSITIVE_INFINITY],
  ]
  const words = [HTML, long, ARABIC, '__proto__', 'constructor', ' ', '\u0000\u001b[31m', 'x']
  await store.insert(
    'entries',
    places.map(([longitude, lattitude], index) => {
      const text = words[index % words.length] as string
      return entry(index, {
        ...(index === 6 && { _id: `${HTML}/../?#%2f` }),
        createdAt: new Date(index === 0 ? -62_135_596_800_000 : index === 1 ? 253_402_300_799_999 : Number(now)),
        status: text,
        location: { address: text, country: text, state: text, coordinates: { longitude, lattitude } },
        answers: [
          { type: 'multiChoice', question: HTML, answer: [text, ARABIC] },
          { type: 'singleChoice', question: '__proto__', answer: long },
          { type: 'singleChoice', question: ARABIC },
        ],
      })
    }),
  )
  const plain = Array.from({ length: PLAIN }, (_, day) =>
    entry(day, { _id: `!plain-${day}`, createdAt: new Date(Date.UTC(2025, 0, 1 + day)) }),
  )
  await store.insert('entries', plain)
  return organisation
}

/** Which colours of the style sheet the map has, and whether these are many, and which statuses the time line has. */
const coloursOf = (page: Page): Promise<unknown> =>
  page.evaluate(`new Promise(requestAnimationFrame).then(() => {
    const canvas = document.getElementById('map-canvas')
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    const style = getComputedStyle(canvas)
    const drawn = new Set(new Uint32Array(data.buffer))
    const has = (name) => {
      const [red, green, blue] = style.getPropertyValue('--' + name).match(/[^#]{2}/g).map((two) => parseInt(two, 16))
      return drawn.has(((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0)
    }
    const isIn = (name) => document.querySelector('#time-view path[style*="--' + name + '"]').getAttribute('d').length > 0
    const toned = ['accepted', 'pending', 'rejected'].map((name) => [name, [has(name), isIn(name)]])
    return { land: has('land'), ...Object.fromEntries(toned), areMany: drawn.size > 20 }
  })`)
const TONED = { accepted: [true, true], pending: [true, true], rejected: [true, true] }

// A browser that shares the processors with other tests is slow.
t.setTimeout(600_000)

t.test('a browser explores entries (needs the Chromium of CHROMIUM_PATH)', { skip: isWithoutBrowser }, async (t) => {
  const store = embeddedStore()
  const [demo] = await loadDemo(store)
  const key = String(demo?.key)
  const hostile = await fillHostile(store)
  const now = new Date()
  await store.insert('organisations', [{ _id: 'empty', name: 'Empty', createdAt: now, updatedAt: now }])
  const keys = keysOf(store, (error) => t.fail(String(error)))
  let log = ''
  const app = await buildApp(loadConfig({ LOG_LEVEL: 'trace' }), store, {
    write: (line) => {
      log += line
    },
  })
  t.teardown(() => app.close())
  const way = new Way()
  const origin = await way.listen(t, await listen(app))
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const rarely = onlyThorough(t)

  const bodyOf = async (path: string, bearer = key) => {
    const response = await app.inject({ url: path, headers: { authorization: `Bearer ${bearer}` } })
    if (response.statusCode !== 200) throw new Error(`${path}: ${response.body}`)
    return response
  }
  /** How many entries the API has for the filters in the address of a page. */
  const total = async (parameters: URLSearchParams): Promise<number> => {
    const { _metadata } = (await bodyOf(`/v1/entries?${parameters}&perPage=1`)).json()
    return _metadata.total
  }

  /** The key is sent in headers to this service, and is nowhere else. */
  const keepsKey = async (t: Test, { page, requested }: Opened): Promise<void> => {
    for (const { url, headers } of requested) {
      t.ok(url.startsWith(`${origin}/`) || url.startsWith(`blob:${origin}/`), url)
      t.notOk(`${url} ${headers.referer ?? ''} ${headers.cookie ?? ''}`.includes(key), 'the key is in no URL')
    }
    t.notOk(page.url().includes(key))
    t.same(
      await page.evaluate(`(async () => ({
        storage: localStorage.length + sessionStorage.length + document.cookie.length + String(name).length,
        databases: await indexedDB.databases(),
        caches: 'caches' in self ? await caches.keys() : [],
        history: JSON.stringify(history.state),
      }))()`),
      { storage: 0, databases: [], caches: [], history: 'null' },
    )
    t.notOk((await page.content()).includes(key), 'and not in the document')
  }

  for (const [name, options] of Object.entries<BrowserContextOptions>({
    'a wide screen, by mouse and keyboard': { viewport: WIDE, colorScheme: 'dark' },
    'a phone, by touch and with reduced motion': {
      ...{ viewport: PHONE, hasTouch: true, isMobile: true, deviceScaleFactor: 2, reducedMotion: 'reduce' },
    },
  })) {
    const isTouch = options.hasTouch === true
    const press = (part: Locator) => (isTouch ? part.tap() : part.click())

    await (isTouch ? rarely : t.test)(`what is selected is what is saved: on ${name}`, async (t) => {
      const opened = await open(t, browser, `${origin}/explore`, options)
      const { page } = opened
      await isAccessible(t, page, 'start')
      await typeKey(page, `Bearer ${key}`)
      await complete(page)
      await shows(page, '#map-words', 'on the map')
      t.equal(await total(new URLSearchParams()), 1500)
      t.same(await counts(page), [1500, 1500])
      await page.waitForLoadState('networkidle')
      t.same(await coloursOf(page), { land: true, ...TONED, areMany: true }, 'the map has land and entries')
      await isAccessible(t, page, 'complete')

      if (isTouch) {
        await brush(page, 60, true)
        await shows(page, '#filters', 'created from')
        await press(page.locator('#clear'))
        await page.locator('#clear').waitFor({ state: 'hidden' })
      }
      await brush(page, isTouch ? 0 : 3, isTouch)
      await shows(page, '#filters', 'created from')
      const [since, before] = ['createdSince', 'createdBefore'].map((end) => Date.parse(addressOf(page).get(end) ?? ''))
      t.equal(Number(before) - Number(since), WEEK, 'a week is brushed')
      const status = page.locator('#status button').first()
      if (isTouch) await press(status)
      else {
        await tabTo(page, '#status button')
        await page.keyboard.press('Enter')
      }
      await shows(page, '#filters', 'status: accepted')
      t.equal(await status.getAttribute('aria-pressed'), 'true')
      const filters = addressOf(page)
      const [size = 0] = await counts(page)
      t.ok(size > 0)
      t.equal(size, await total(filters), 'the page counts what the API counts')
      await isAccessible(t, page, 'filtered')

      await press(page.locator('#table .open').first())
      await shows(page, '#entry-view', 'Answers')
      const [first] = (await bodyOf(`/v1/entries?${filters}&sortBy=id&sortOrder=desc&perPage=1`)).json().data
      const entry = (await bodyOf(`/v1/entries/${first.id}`)).json().data
      const shown = await page.locator('#entry-view').innerText()
      for (const text of [
        entry.id,
        entry.form.name,
        entry.project.name,
        entry.agent.lastName,
        entry.answers[0].question,
      ])
        t.ok(shown.includes(text), `the entry shows ${text}`)
      await isAccessible(t, page, 'entry open')
      const { y = Infinity } = (await page.locator('#entry-view h4').boundingBox()) ?? {}
      t.ok(y < (page.viewportSize()?.height ?? 0), 'its answers are in sight')
      if (isTouch) await press(page.locator('#entry-close'))
      else await page.keyboard.press('Escape')
      await page.locator('#entry').waitFor({ state: 'hidden' })

      const xlsx = unzip(await download(page, 'xlsx')).get('xl/worksheets/sheet1.xml') as string
      t.equal(sheetRows(xlsx).length, size + 1, 'a sheet')
      const csv = await download(page, 'csv')
      t.ok(csv.equals((await bodyOf(`/v1/exports/entries.csv?${filters}&bom=true&names=true`)).rawPayload), 'the CSV')
      t.equal(readCsv(csv.toString('utf8').slice(1)).length, size + 1)
      const geojson = await download(page, 'geojson')
      t.ok(geojson.equals((await bodyOf(`/v1/exports/entries.geojson?${filters}`)).rawPayload), 'and the GeoJSON')
      t.equal((await download(page, 'parquet')).toString('latin1', 0, 4), 'PAR1')
      t.match(
        (await page.locator('#curl').textContent()) ?? '',
        `${origin}/v1/exports/entries.csv?${filters}&bom=true&names=true'`,
      )

      await press(page.locator('#clear'))
      await press(page.locator('#zoom-in'))
      await page.evaluate('new Promise(requestAnimationFrame)')
      const inView = Number((await page.locator('#box-view').innerText()).replace(/\D/g, ''))
      await press(page.locator('#box-view'))
      await shows(page, '#filters', 'box:')
      const [inBox = 0] = await counts(page)
      t.ok(inBox > 0 && inBox < 1500)
      t.equal(inBox, inView, 'the map says how many are in view')
      t.equal(inBox, await total(addressOf(page)), 'so it is with a box')
      await openFilters(page)
      for (const dimension of ['form', 'project', 'state', 'lga', 'agent', 'dispatch']) {
        await press(page.locator(`#${dimension} button.bar`).first())
        await shows(page, '#filters', `${dimension}:`)
        const [size] = await counts(page)
        t.equal(size, await total(addressOf(page)), `so it is with a box and by ${dimension}`)
      }
      await shows(page, '#answers-words', 'Press one to select it')
      t.ok((await page.locator('#questions section').count()) > 2, 'and each question has bars')
      for (const question of ['#question-1', '#question-2']) {
        await press(page.locator(`${question} button.bar`).first())
        await page.locator(`${question} button.bar[aria-pressed=true]`).waitFor()
        const [size] = await counts(page)
        t.equal(size, await total(addressOf(page)), `so it is by an answer to ${question}`)
      }
      t.equal(addressOf(page).getAll('answered').length, 2)
      await press(page.locator('#question-1 button.bar[aria-pressed=true]'))
      t.equal(addressOf(page).getAll('answered').length, 1, 'an answer is let go')
      t.same(await page.evaluate('document.getAnimations().length'), 0, 'nothing moves')

      await page.emulateMedia({ media: 'print' })
      t.ok(await page.locator('#table tbody tr').first().isVisible(), 'paper has the table')
      t.notOk(await page.locator('#take').isVisible(), 'and no buttons')
      t.equal(await overflow(page), 0)
      await keepsKey(t, opened)
    })
  }

  await rarely('a key in the fragment is removed from the address, and filters stay', async (t) => {
    const opened = await open(t, browser, `${origin}/docs/errors`, { viewport: WIDE })
    const { page } = opened
    const [asked] = await Promise.all([
      page.waitForRequest('**/v1/me'),
      page.goto(`${origin}/explore?status=rejected&nonsense=1#key=${key}`),
    ])
    t.equal(await asked.headerValue('authorization'), `Bearer ${key}`)
    t.equal(page.url(), `${origin}/explore?status=rejected&nonsense=1`)
    await complete(page)
    t.equal((await counts(page))[0], await total(new URLSearchParams('status=rejected')))
    await shows(page, '#notes', 'A part of the address is no filter that the page knows')
    await page.goBack()
    t.equal(page.url(), `${origin}/docs/errors`)
    await page.goForward()
    t.equal(page.url(), `${origin}/explore?status=rejected&nonsense=1`, 'and it is not in the history')
    opened.requested.splice(0, 1)
    await page.locator('#key').waitFor()
    await keepsKey(t, opened)
  })

  for (const viewport of [WIDE, PHONE]) {
    await rarely(`nothing is said before it is known, and nothing moves: ${viewport.width} pixels wide`, async (t) => {
      const { page } = await open(t, browser, `${origin}/explore`, { viewport })
      let release = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      await page.route(/\/v1\/(entries|exports)/, async (route) => {
        await released
        await route.continue()
      })
      await typeKey(page, key)
      await shows(page, '#count', 'Loading entries…')
      t.notMatch(await page.locator('#explorer').innerText(), /\d|No entries/, 'no number, no date')
      await isAccessibleInBoth(t, page, 'loading')
      const places = () =>
        page.evaluate(`['#map', '#time', '#entries', '#table tr:last-child'].map((part) =>
          Math.round(document.querySelector(part).getBoundingClientRect().top + scrollY))`)
      const before = await places()
      release()
      await complete(page)
      await shows(page, '#time-words', 'Bars with ↑ are cut.')
      t.same(await places(), before)
      await openFilters(page)
      for (const [list, dimension] of Object.entries({
        forms: 'form',
        projects: 'project',
        dispatches: 'dispatch',
        agents: 'agent',
      })) {
        const { total } = (await bodyOf(`/v1/${list}?perPage=1`)).json()._metadata
        const { data } = (await bodyOf(`/v1/summaries/entries?by=${dimension}`)).json()
        const found = data.filter((row: Record<string, string | null>) => row[dimension] !== null).length
        await shows(page, `#${dimension} .foot`, `${found} of ${total} have entries.`)
      }
      const { data } = (await bodyOf('/v1/summaries/entries?by=form&measure=duration&names=true')).json()
      const most = Math.max(...data.map(({ count }: { count: number }) => count))
      const { formName, count, duration } = data.find((row: { count: number }) => row.count === most)
      const bar = await page.locator('#form .bar').first().innerText()
      t.equal(
        bar.replace(/\s+/g, ' '),
        `${formName} ${count} ø ${Math.round(duration.mean).toLocaleString('en')}`,
        'with the mean of its durations',
      )
    })
  }

  await rarely('Back goes through what was selected, and an entry has an address', async (t) => {
    const { page } = await open(t, browser, `${origin}/explore#key=${key}`, { viewport: WIDE })
    await complete(page)
    t.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none', 'no frame')
    const form = (index: number) => page.locator('#form button.bar').nth(index)
    await form(0).click()
    await shows(page, '#count', /^387 /)
    await page.locator('#status button.bar').first().click()
    await shows(page, '#filters', 'status: accepted')
    const steps = [await counts(page)]
    await form(1).click()
    await shows(page, '#notes', 'Childhood immunisation coverage took the place of Small business survey')
    steps.push(await counts(page))
    t.notSame(steps[0], steps[1])
    await page.locator('#table .open').first().click()
    await shows(page, '#entry-view', 'Answers')
    const shown = await page.locator('#entry-view').innerText()
    t.ok(shown.includes(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('entry') as string))
    await page.goBack()
    await page.locator('#entry').waitFor({ state: 'hidden' })
    t.same(await counts(page), steps[1])
    await page.goBack()
    await shows(page, '#filters', 'form: Small business survey')
    t.same(await counts(page), steps[0])
    for (const expected of [/^387 of/, /^1,500 of/]) {
      await page.goBack()
      await shows(page, '#count', expected)
    }
    for (let step = 0; step < 4; step++) await page.goForward()
    await page.locator('#entry').waitFor()
    await page.reload()
    t.equal(await page.evaluate('document.activeElement.id'), 'key', 'a reload asks for the key')
    await typeKey(page, key)
    await shows(page, '#entry-view', 'Answers')
    t.equal(await page.locator('#entry-view').innerText(), shown)
  })

  await rarely('a group is one stop of the Tab key, and days are typed', async (t) => {
    const { page } = await open(t, browser, `${origin}/explore`, { viewport: WIDE })
    await typeKey(page, key)
    await complete(page)
    await page.keyboard.press('Tab')
    t.ok(await page.evaluate(`document.activeElement.matches('.skip')`), 'first, a link skips what is before the table')
    await tabTo(page, '#agent button')
    const focused = () => page.evaluate<string>('document.activeElement.innerText')
    const names = await page.locator('#agent .bar').allInnerTexts()
    for (const [key, index] of [
      ['ArrowDown', 1],
      ['End', 3],
      ['ArrowUp', 2],
      ['Home', 0],
    ] as const) {
      await page.keyboard.press(key)
      t.equal(await focused(), names[index], key)
    }
    await page.keyboard.press('Tab')
    t.match(await focused(), / more$/)
    await page.locator('#time-from').fill('2025-06-20')
    await page.locator('#time-to').fill('2025-06-31')
    await page.locator('#time-to').blur()
    await page.locator('#time-to').fill('2025-06-30')
    await page.locator('#time-to').blur()
    await shows(page, '#filters', 'created from 2025-06-20 to 2025-06-30')
    t.equal((await counts(page))[0], await total(addressOf(page)))
    for (const tick of await page.locator('#time-view .axis text').allTextContents())
      t.match(tick, /^(\d+|\d{4}-\d\d(-\d\d)?)$/, 'whole counts, and days as the others')
  })

  await rarely('a wrong key, a busy service and no entries have words of their own', async (t) => {
    const { page } = await open(t, browser, `${origin}/explore`, { viewport: PHONE })
    await typeKey(page, 'fda_wrong')
    await shows(page, '#message', 'does not know this key')
    await isAccessibleInBoth(t, page, 'wrong key')
    way.isBusy = true
    await typeKey(page, key)
    await shows(page, '#message', 'busy, or its database is away. Try again in 7 seconds')
    way.isBusy = false
    await typeKey(page, await keys.issue({ organisation: 'empty', name: 'Test' }))
    await shows(page, '#message', 'This organisation has no entries yet.')
    t.ok(await page.locator('#key').isVisible(), 'another key can be typed')
    await isAccessibleInBoth(t, page, 'no entries')
  })

  await rarely('a finger that moves up scrolls the page, and selects nothing', async (t) => {
    const { page } = await open(t, browser, `${origin}/explore`, { viewport: PHONE, hasTouch: true, isMobile: true })
    await typeKey(page, key)
    await complete(page)
    const session = await page.context().newCDPSession(page)
    for (const part of ['#time-view .overlay', '#map-canvas']) {
      await page.locator(part).scrollIntoViewIfNeeded()
      const box = (await page.locator(part).boundingBox()) as { x: number; y: number; width: number; height: number }
      const x = box.x + box.width / 2
      const y = box.y + box.height / 2
      const before = await page.evaluate<number>(`scrollY`)
      await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] })
      for (const moved of [10, 30, 60, 90])
        await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x, y: y - moved }] })
      await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
      await page.waitForFunction(`scrollY > ${before}`)
      t.equal(page.url(), `${origin}/explore`, part)
    }
  })

  await rarely('a key that sees less has a page without what it does not see', async (t) => {
    const organisation = String(demo?.organisation._id)
    const less = await keys.issue({ organisation, name: 'Less', without: ['personal', 'places'] })
    const { page, requested } = await open(t, browser, `${origin}/explore`, { viewport: WIDE })
    await typeKey(page, less)
    await complete(page)
    await shows(page, '#hidden', 'This key does not see personal data or places.')
    for (const part of ['#map', '#state', '#lga', '#table th:text("State")'])
      t.notOk(await page.locator(part).isVisible(), part)
    t.ok(await page.locator('#agent').isVisible())
    await page.locator('#status-bars button').first().click()
    await page.locator('#clear').waitFor()
    t.same((await counts(page))[0], await total(addressOf(page)))
    await page.locator('#filters button').first().click()
    t.equal(await page.evaluate('document.activeElement.id'), 'count', 'the focus stays among what is shown')
    await page.locator('#table .open:visible').first().click()
    await page.locator('#entry').waitFor()
    await page.locator('#to-second-look').click()
    await shows(page, '#look-words', 'a second look')
    const { data: agents } = (await bodyOf('/v1/checks/agents?perPage=5', less)).json()
    t.same(
      (await page.locator('#look-agents .label:visible').allInnerTexts()).slice(0, 5),
      agents.map(({ agent }: { agent: string }) => agent),
      'agents have ids',
    )
    t.notMatch(await page.locator('#looked').innerText(), /place|0, 0|exchanged|km/)
    t.notOk(requested.some(({ url }) => url.includes('firstName')))
    await isAccessible(t, page, 'a key that sees less')
  })

  await rarely('a key for some projects shows these alone, with the names of what their entries name', async (t) => {
    const organisation = String(demo?.organisation._id)
    const [project] = (await bodyOf('/v1/projects')).json().data.map(({ id }: { id: string }) => id)
    const some = await keys.issue({ organisation, name: 'Some', only: { project: [project] } })
    const { page } = await open(t, browser, `${origin}/explore`, { viewport: WIDE })
    await typeKey(page, some)
    await complete(page)
    await shows(page, '#hidden', 'This key sees some projects alone.')
    t.equal((await counts(page))[0], await total(new URLSearchParams({ project })))
    const forms = (await bodyOf(`/v1/summaries/entries?by=form&names=true&project=${project}`)).json().data
    for (const { formName } of forms) t.match(await page.locator('#form').textContent(), formName)
  })

  for (const viewport of [WIDE, PHONE]) {
    await rarely(`what is too much to load is counted by the service: ${viewport.width} pixels wide`, async (t) => {
      const { page, requested } = await open(t, browser, `${origin}/docs`, { viewport })
      await loadFew(page)
      await page.goto(`${origin}/explore`)
      await typeKey(page, key)
      /** Does something, and waits until the service has counted. */
      const whenCounted = async (work: () => Promise<unknown>) => {
        await page.evaluate("performance.clearMarks('explore:counted')")
        await work()
        await page.waitForFunction(() => performance.getEntriesByName('explore:counted').length > 0)
      }
      const first = (part: string) => page.locator(`${part} button.bar`).first()
      await page.waitForFunction(() => performance.getEntriesByName('explore:counted').length > 0)
      await shows(page, '#notes', 'the service counts all of them')
      t.same(await counts(page), [1500, 1500])
      await shows(page, '#map-words', /^1,494 entries on the map/)
      t.match(await coloursOf(page), TONED, 'statuses have their colours')
      await openFilters(page)
      await shows(page, '#dispatch', ' of ')
      for (const dimension of ['status', 'form', 'state', 'lga']) {
        await whenCounted(() => first(`#${dimension}`).click())
        const [size = 0] = await counts(page)
        t.ok(size > 0)
        t.equal(size, await total(addressOf(page)), `the page counts what the API counts by ${dimension}`)
        const shown = await page.locator(`#${dimension} [aria-pressed=true] .count`).innerText()
        t.equal(Number(shown.replaceAll(',', '')), size, 'and so does the bar')
      }
      await whenCounted(() => first('#question-1').click())
      t.equal((await counts(page))[0], await total(addressOf(page)), 'and by an answer')
      await whenCounted(() => page.locator('#clear').click())
      await whenCounted(() => brush(page, 3, false))
      t.equal((await counts(page))[0], await total(addressOf(page)), 'and in some weeks')
      await whenCounted(() => page.locator('#time-clear').click())
      await page.locator('#zoom-in').click()
      await whenCounted(() => page.locator('#box-view').click())
      const [inBox = 0] = await counts(page)
      t.ok(inBox > 0 && inBox < 1500)
      t.equal(inBox, await total(addressOf(page)), 'and in a box')
      await shows(page, '#page-words', '1 to 25')
      await page.locator('#page-next').click()
      await shows(page, '#page-words', '26 to 50')
      await page.locator('#page-previous').click()
      await shows(page, '#page-words', '1 to 25')
      await page.locator('#table .open:visible').first().click()
      await shows(page, '#entry-view', 'Answers')
      t.equal(
        readCsv((await download(page, 'csv')).toString('utf8').slice(1)).length,
        inBox + 1,
        'a file has all of them',
      )
      t.notOk(
        requested.some(({ url }) => url.includes('/exports/entries.ndjson')),
        'no entry was loaded for counting',
      )
      await page.locator('#to-second-look').click()
      await shows(page, '#look-words', `Of ${inBox.toLocaleString('en')} entries that were checked,`)
      await isAccessible(t, page, 'counted')
    })
  }

  await rarely('a stream that breaks is gone on with, and a file that breaks is not saved', async (t) => {
    const { page } = await open(t, browser, `${origin}/explore`, { viewport: WIDE })
    way.stops = /^\/v1\/exports\/entries/
    await typeKey(page, key)
    await shows(page, '#count', /^[1-9]/)
    way.break()
    await shows(page, '#message', 'of 1,500 entries are here')
    const [part = 0] = await counts(page)
    t.ok(part > 0 && part < 1500)
    await isAccessibleInBoth(t, page, 'broken stream')
    const saved = page.waitForEvent('download', { timeout: 0 }).then(() => t.fail('a part of a file was saved'))
    saved.catch(() => {})
    await pressDownload(page, 'csv')
    await shows(page, '#download-status', 'so far')
    way.break()
    await shows(page, '#download-status', 'broke after')
    await pressDownload(page, 'csv')
    await shows(page, '#download-status', 'so far')
    await page.locator('#download-cancel').click()
    await shows(page, '#download-status', 'cancelled')
    way.stops = undefined
    await page.locator('#go-on').click()
    await complete(page)
    t.same(await counts(page), [1500, 1500])
    t.notOk(await page.locator('#message').isVisible())
    const found = await page.locator('#status .count').allInnerTexts()
    t.same(
      found.map((text) => Number(text.replaceAll(',', ''))).reduce((sum, count) => sum + count),
      1500,
      'no entry is there twice',
    )
  })

  await rarely('hostile data stay text', async (t) => {
    const bearer = await keys.issue({ organisation: hostile, name: 'Test' })
    for (const viewport of [WIDE, PHONE]) {
      const { page } = await open(t, browser, `${origin}/explore`, { viewport })
      await typeKey(page, bearer)
      await complete(page)
      t.same(await counts(page), [8 + PLAIN, 8 + PLAIN])
      await shows(page, '#notes', '2 more cannot be shown')
      await shows(page, '#map-words', `${5 + PLAIN} entries on the map`)
      await shows(page, '#time-words', 'by day, from 2025-01-01 to 2025-02-09')
      await shows(page, '#time-words', '2 entries far before or after')
      await page.locator('#zoom-fit').click()
      await openFilters(page)
      await page.locator('#form button.bar').first().click()
      await shows(page, '#answers-words', 'Press one to select it')
      // The words come before the picture.
      await page.locator('#questions section').nth(4).waitFor()
      t.equal(await page.locator('#questions section').count(), 5)
      const rows = await page.locator('#table .open:visible').all()
      for (const row of rows.slice(0, viewport === WIDE ? 8 : 2)) {
        await row.click()
        await shows(page, '#entry-view', 'Answers')
      }
      for (const status of viewport === WIDE ? await page.locator('#status button.bar').all() : []) {
        await status.click()
        await shows(page, '#count', /^(1|40) of 48/)
        await status.click()
        await shows(page, '#count', /^48 of 48/)
      }
      await page.locator('#to-second-look').click()
      await shows(page, '#look-words', 'a second look')
      await shows(page, '#look-agents .label', '<img src=x')
      for (const row of await page.locator('#look-entries .label:visible').allInnerTexts()) t.match(row, ARABIC)
      await isAccessible(t, page, 'hostile, with answers, an entry and a second look')
      t.equal(await page.locator('body :is(img, script, iframe, object, style)').count(), 0)
      const csv = await download(page, 'csv')
      const { search } = new URL(page.url())
      const more = '&unreadable=skip&bom=true&names=true'
      t.ok(csv.equals((await bodyOf(`/v1/exports/entries.csv${search}${more}`, bearer)).rawPayload), 'the CSV')
    }
  })

  for (const [name, options] of Object.entries<BrowserContextOptions>({
    'a wide screen': { viewport: WIDE },
    'a phone': { viewport: PHONE, hasTouch: true, isMobile: true },
  })) {
    await (options.hasTouch ? rarely : t.test)(`on a Monday, a manager learns whom to call: on ${name}`, async (t) => {
      const { page, requested } = await open(t, browser, `${origin}/explore`, options)
      let presses = 0
      const press = (part: Locator) => {
        presses += 1
        return options.hasTouch === true ? part.tap() : part.click()
      }
      const pressToSave = async (part: string): Promise<Buffer> => {
        const [saved] = await Promise.all([page.waitForEvent('download'), press(page.locator(part))])
        return readFileSync(await saved.path())
      }
      const checks = () => requested.map(({ url }) => url).filter((url) => url.includes('/v1/checks/'))
      await page.locator('#key').fill(key)
      await press(page.locator('#key-form button'))
      await complete(page)
      t.same(checks(), [], 'nobody who does not look pays for it')
      await press(page.locator('#to-second-look'))
      t.equal(await page.evaluate('document.activeElement.id'), 'second-look-title', 'the focus is led there')
      await shows(page, '#look-words', 'need a second look. A flag says nothing of why.')
      const called = (await page.locator('#look-agents .label:visible').allInnerTexts()).slice(0, 5)
      t.equal(called.length, 5)
      t.ok(presses <= 6, `${presses} presses lead to the agents to call`)
      const { data: agents } = (
        await bodyOf('/v1/summaries/entries?by=agent&names=true&measure=duration&top=1000')
      ).json()
      const meanOf = ({ agent, duration }: { agent: string | null; duration: { mean: number } }) =>
        agent === null ? Infinity : duration.mean
      const planted = agents.reduce((least: (typeof agents)[0], each: (typeof agents)[0]) =>
        meanOf(each) < meanOf(least) ? each : least,
      )
      t.equal(called[0], planted.agentName, 'who invents is the first')
      const first = page.locator('#look-agents .bar').first()
      t.match(
        await first.innerText(),
        new RegExp(`${planted.count} of ${planted.count}[^]*takes 0\\.0\\d+ of the usual time`),
      )
      const { y = Infinity } = (await first.boundingBox()) ?? {}
      t.ok(y < (page.viewportSize()?.height ?? 0), 'and is in sight')
      await shows(page, '#look-agents .more', ' more')
      for (const words of ['takes the usual time', /takes 1\.\d times the usual time/])
        await shows(page, '#look-agents', words)
      await isAccessibleInBoth(t, page, 'second look')

      const file = await pressToSave('#look-agents-csv')
      t.ok(file.equals((await bodyOf('/v1/checks/agents.csv?bom=true&names=true')).rawPayload), 'the agents as CSV')
      const [header = [], ...rows] = readCsv(file.toString('utf8').slice(1))
      t.same(
        rows.slice(0, 5).map((row) => row[header.indexOf('agentName')]),
        called,
      )
      await shows(page, '#look-status', 'is complete')

      await press(first)
      await shows(page, '#look-words', 'of the selected agent')
      await shows(page, '#filters', `agent: ${planted.agentName}`)
      t.equal((await counts(page))[0], planted.count, 'all of the page is of the agent')
      const of = `agent=${planted.agent}`
      const flagged = (await bodyOf(`/v1/checks/entries?${of}`)).json()
      await shows(page, '#look-entries .foot', `${flagged._metadata.total} entries.`)
      for (const label of await page.locator('#look-entries .label:visible').allInnerTexts())
        t.match(label, planted.agentName)
      t.equal(await first.getAttribute('aria-pressed'), 'true')
      t.ok((await page.locator('#look-agents .bar:visible').count()) > 5, 'and another one can be selected')
      t.equal(checks().filter((url) => url.includes('/agents?')).length, 1)
      const entry = page.locator('#look-entries .bar').first()
      t.match(await entry.innerText(), /took \d\d where \d+ or more is usual \(short\)/)
      await press(entry)
      await shows(page, '#entry-view', 'Answers')
      t.match(await page.locator('#entry-view').innerText(), flagged.data[0].id)
      t.ok(presses <= 6, `and ${presses} to an entry`)
      t.equal(await entry.getAttribute('aria-pressed'), 'true')
      await isAccessible(t, page, 'an agent and a flagged entry')
      await page.locator('#entry-close').press('Escape')
      t.ok(await entry.evaluate('document.activeElement.matches("#look-entries .bar:first-child")'), 'and back')
      await press(entry)
      await shows(page, '#entry-view', 'Answers')
      await press(entry)
      await page.locator('#entry').waitFor({ state: 'hidden' })

      const csv = await pressToSave('#look-entries-csv')
      t.ok(
        csv.equals((await bodyOf(`/v1/checks/entries.csv?${of}&bom=true&names=true`)).rawPayload),
        'the entries as CSV',
      )
      t.ok((await pressToSave('#look-agents-csv')).equals(file), 'and the agents are those that are listed')
    })
  }

  await rarely('a flag says its reason in words, and the view what it is doing', async (t) => {
    const { page } = await open(t, browser, `${origin}/explore`, { viewport: WIDE })
    const both = { question: 'How many minutes…', expected: [-50.5, 198.7] }
    const flags: [words: string, flag: object][] = [
      ['took 42 where 132 or more is usual (short)', { check: 'short', value: 42, expected: [131.2, 5000] }],
      ['took 51,000 where up to 4,999 is usual (long)', { check: 'long', value: 51000, expected: [131.2, 4999.9] }],
      ['all answers are those of an earlier entry', { check: 'copy', value: 'x', expected: [null, null] }],
      ['1 answer where 5 or more are usual', { check: 'incomplete', value: 1, expected: [4.5, null] }],
      ['3,000 to ‘\u2068How many minutes…\u2069’, usual is up to 198', { check: 'number', value: 3000, ...both }],
      ['-60 to ‘\u2068How many minutes…\u2069’, usual is -50.5 or more', { check: 'number', value: -60, ...both }],
      ['1e+300 to', { check: 'number', value: 1e300, ...both }],
      ['no place', { check: 'place', reason: 'missing', value: null, expected: [null, null] }],
      ['lies at 0, 0', { check: 'place', reason: 'zero', value: null, expected: [null, null] }],
      ['longitude and latitude look exchanged', { check: 'place', reason: 'exchanged', value: 9, expected: [null, 5] }],
      [
        '12.3 km from the middle of its state’s entries, up to 5.01 km is usual',
        { check: 'place', reason: 'far', value: 12.34, expected: [null, 5.0199] },
      ],
      ['lies nowhere on the earth', { check: 'place', reason: 'far', value: null, expected: [null, 5] }],
      ['7 entries at this one point', { check: 'place', reason: 'repeated', value: 7, expected: [null, 5] }],
      ['later', { check: 'later', value: 7, expected: [null, 5] }],
    ]
    const entry = {
      id: 'e',
      form: 'f',
      formName: 'F',
      agent: 'a',
      agentName: ' ',
      createdAt: '2025-06-20T10:11:12.000Z',
    }
    let answer: { data: object[]; total: number } = { data: [], total: 0 }
    let isBroken = false
    let hold = Promise.resolve()
    await page.route('**/v1/checks/entries?**', async (route) => {
      const { data, total } = answer
      await hold
      if (isBroken) await route.abort()
      else await route.fulfill({ json: { success: true, data, _metadata: { total, entries: 1500 } } })
    })
    await typeKey(page, key)
    await complete(page)
    let release = () => {}
    hold = new Promise((resolve) => {
      release = resolve
    })
    await Promise.all([page.waitForRequest('**/v1/checks/entries?**'), page.locator('#to-second-look').click()])
    await shows(page, '#look-words', 'Checking the entries…')
    await isAccessible(t, page, 'checking')
    answer = { data: [{ ...entry, flags: flags.map(([, flag]) => flag) }], total: 60 }
    const [outdated] = [release]
    hold = Promise.resolve()
    await page.locator('#status button.bar').first().click()
    await shows(page, '#look-words', 'Of 1,500 entries that were checked, 60 need a second look.')
    outdated()
    const bar = page.locator('#look-entries .bar').first()
    t.equal(await bar.locator('.label').innerText(), '2025-06-20 10:11 · \u2068F\u2069 · \u2068a\u2069')
    const words = (await bar.locator('.below').innerText()).split('; ')
    for (const [index, [expected]] of flags.entries()) t.ok(words[index]?.startsWith(expected), `${words[index]}`)
    await shows(page, '#look-entries .foot', '60 entries. These are the first 1: the file has all.')
    await isAccessible(t, page, 'reasons')
    answer = { data: [], total: 0 }
    await page.locator('#clear').click()
    await shows(page, '#look-words', 'none needs a second look')
    isBroken = true
    await page.locator('#status button.bar').first().click()
    await shows(page, '#look-words', 'Nothing was checked. The service cannot be reached.')
    t.equal(await page.locator('#looked .bar:visible').count(), 0, 'nothing stays that is of something else')
    await isAccessible(t, page, 'checks that broke')
    isBroken = false
    await page.locator('#look-again').click()
    await shows(page, '#look-words', 'none needs a second look')
    t.notOk(await page.locator('#look-again').isVisible())
  })

  await t.test('the log has no key', (t) => {
    t.match(log, 'exportEntries')
    for (const text of [key, key.slice(-20)]) t.notOk(log.includes(text))
    t.end()
  })
})
