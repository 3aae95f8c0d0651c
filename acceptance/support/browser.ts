// Chromium for tests of pages, and for the pictures of them.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const { CHROMIUM_PATH: executablePath } = process.env

/** Whether tests have no browser. They take most of a minute, so they run only where CHROMIUM_PATH is set. */
export const isWithoutBrowser = executablePath === undefined

/** Starts the browser. For root, as in a container, it has no sandbox. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: executablePath ?? '/usr/bin/chromium', chromiumSandbox: process.getuid?.() !== 0 })

/** The screens on which the pages must be readable. */
export const screens = (['light', 'dark'] as const).flatMap((colorScheme) => [
  { name: `wide-${colorScheme}`, colorScheme, viewport: { width: 1280, height: 900 } },
  { name: `phone-${colorScheme}`, colorScheme, viewport: { width: 390, height: 844 } },
])

/** Makes the page /explore load at most 1,000 entries, so that it leaves the counting of more to the service. */
export const loadFew = (page: Page): Promise<unknown> =>
  page.route('**/entries.js', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replace('LIMIT = 100_000', 'LIMIT = 1_000') })
  })

/** Fails the test if a page reports an error, or opens a dialog, which nothing in the project does. */
export const failOnErrors = (t: Test, page: Page): void => {
  page.on('console', (message) => {
    // Chromium reports each response of an error status, and each connection that breaks.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) t.fail(message.text())
  })
  page.on('pageerror', (error) => t.fail(String(error)))
  page.on('dialog', (dialog) => {
    t.fail(dialog.message())
    return dialog.dismiss()
  })
}

/** How many pixels of a page are beside the screen. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The serious and the critical violations that axe finds in a part of a page. */
export const seriousFaults = async (page: Page, part = 'document'): Promise<{ id: string; targets: string[] }[]> => {
  // Not as a script of the page, which its policy forbids.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE)
  const { violations } = (await page.evaluate(`axe.run(${part})`)) as {
    violations: { id: string; impact: string; nodes: { target: string[] }[] }[]
  }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => ({ id, targets: nodes.flatMap(({ target }) => target) }))
}
