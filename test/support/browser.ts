// Chromium for tests of pages, and for the pictures of them: the one of the system, if there is one.
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const paths = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const executablePath = paths.find((path) => path !== undefined && existsSync(path))

/** What `skip` of a test takes: false, or why there is no browser. */
export const withoutBrowser: string | false =
  executablePath === undefined && 'there is no Chromium; CHROMIUM_PATH may name one'

/** Starts the browser. For root, as in a container, it has no sandbox. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: executablePath as string, chromiumSandbox: process.getuid?.() !== 0 })

/** The screens on which the pages must be readable. */
export const screens = (['light', 'dark'] as const).flatMap((colorScheme) => [
  { name: `wide-${colorScheme}`, colorScheme, viewport: { width: 1280, height: 900 } },
  { name: `phone-${colorScheme}`, colorScheme, viewport: { width: 390, height: 844 } },
])
