// How the page /explore does with many entries, in Chromium: how soon it draws, and how it follows a brush. On the server,
// with `npm run bench -- --explore`.
import type { Browser, Page } from 'playwright-core'
import { loadFew, startBrowser } from '../acceptance/support/browser.js'
import type { Database } from './databases.js'
import { startService } from './peers.js'
import { stopAll } from './processes.js'
import { median } from './timing.js'
import { isTrial, usually } from './trial.js'

/** In milliseconds. */
export interface Explored {
  /** From the key to the first drawing. */
  first: number
  /** From the key until everything is there. */
  complete: number
  /** The median of the redraws while the time line is brushed. */
  redraw: number
  /** The longest task while entries load, and after that. */
  longestLoading: number
  longestAfter: number
}

const RUNS = usually(5, 1)
/** Longer than all counts for the page take. */
const KEPT_MS = 600_000
const BRUSHED = 40

const OBSERVE = `
  window.tasks = []
  new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: 'longtask', buffered: true })`

const READ = `(() => {
  const at = (name) => performance.getEntriesByName('explore:' + name)[0].startTime
  const after = (entry) => entry.startTime >= at('complete')
  const longest = (some) => Math.max(0, ...some.map(({ duration }) => duration))
  return {
    first: at('first-drawing') - at('key'),
    complete: at('complete') - at('key'),
    redraws: performance.getEntriesByName('explore:redraw').filter(after).map(({ duration }) => duration),
    longestLoading: longest(tasks.filter((task) => task.startTime >= at('key') && !after(task))),
    longestAfter: longest(tasks.filter(after)),
    count: document.getElementById('count').textContent,
  }
})()`

/** Brushes most of the time line, bit by bit. */
const brush = async (page: Page): Promise<void> => {
  const box = await page.locator('#time-view .overlay').boundingBox()
  if (box === null) throw new Error('The page has no time line')
  const { x, y, width, height } = box
  await page.mouse.move(x + width * 0.1, y + height / 2)
  await page.mouse.down()
  for (let step = 1; step <= BRUSHED; step++) {
    await page.mouse.move(x + width * (0.1 + (0.8 * step) / BRUSHED), y + height / 2)
    await page.evaluate('new Promise(requestAnimationFrame)')
  }
  await page.mouse.up()
}

const explore = async (browser: Browser, url: string, { key, entries }: Database): Promise<Explored> => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.addInitScript(OBSERVE)
  await page.goto(`${url}/explore`)
  await page.locator('#key').fill(key)
  await page.locator('#key').press('Enter')
  await page.waitForFunction(() => performance.getEntriesByName('explore:complete').length > 0, undefined, {
    timeout: 120_000,
  })
  await brush(page)
  await page.locator('#status button').first().click()
  await page.locator('#zoom-in').click()
  await page.evaluate('new Promise(requestAnimationFrame)')
  const { redraws, count, ...times } = (await page.evaluate(READ)) as Omit<Explored, 'redraw'> & {
    redraws: number[]
    count: string
  }
  await page.close()
  if (!count.endsWith(` of ${entries.toLocaleString('en')} entries`)) throw new Error(`The page shows ${count}`)
  return { ...times, redraw: median(redraws) }
}

/** The median of some runs for each database, each in a browser that has not been there before. */
export const exploreAll = async (databases: readonly Database[], say: (text: string) => void) => {
  const results: (Explored & { entries: number })[] = []
  for (const database of databases) {
    const server = await startService(database, database)
    const runs: Explored[] = []
    for (let run = 0; run < RUNS; run++) {
      const browser = await startBrowser()
      runs.push(await explore(browser, server.url, database))
      await browser.close()
      say(`${database.entries} entries: ${JSON.stringify(runs.at(-1))}`)
    }
    await stopAll()
    const of = (name: keyof Explored) => median(runs.map((run) => run[name]))
    results.push({
      entries: database.entries,
      ...{ first: of('first'), complete: of('complete'), redraw: of('redraw') },
      ...{ longestLoading: of('longestLoading'), longestAfter: of('longestAfter') },
    })
  }
  return results
}

/** How the page does where the service counts, in milliseconds: until the first counts and all of them, and after a bar is pressed. */
export interface Counted {
  readonly first: number
  readonly complete: number
  /** Until all views have followed: when it is pressed for the first time, and the median when that was counted before. */
  readonly pressed: number
  readonly again: number
}

/** The page with more entries than it loads. */
export const exploreCounted = async (database: Database, say: (text: string) => void): Promise<Counted> => {
  const server = await startService(database, { ...database, keptMs: KEPT_MS })
  const browser = await startBrowser()
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  if (isTrial) await loadFew(page)
  let counts = 0
  const waitForCounts = async () => {
    counts += 1
    const isCounted = (least: number) => performance.getEntriesByName('explore:counted').length >= least
    await page.waitForFunction(isCounted, counts, { timeout: 600_000 })
  }
  const press = async (): Promise<number> => {
    const start = performance.now()
    await page.locator('#status button').first().click()
    await waitForCounts()
    return performance.now() - start
  }
  await page.goto(`${server.url}/explore`)
  await page.locator('#key').fill(database.key)
  const start = performance.now()
  await page.locator('#key').press('Enter')
  const all = `${database.entries.toLocaleString('en')} of ${database.entries.toLocaleString('en')} entries`
  await page.locator('#count', { hasText: all }).waitFor({ timeout: 600_000 })
  const first = performance.now() - start
  await waitForCounts()
  const complete = performance.now() - start
  say(`${database.entries} entries: ${JSON.stringify({ first, complete })}`)
  const pressed = await press()
  const again: number[] = []
  for (let run = 0; run < RUNS; run++) {
    await press()
    again.push(await press())
  }
  say(`${database.entries} entries: ${JSON.stringify({ pressed, again })}`)
  await browser.close()
  await stopAll()
  return { first, complete, pressed, again: median(again) }
}
