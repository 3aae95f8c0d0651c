// Chromium for tests of pages, and for the pictures of them.
import { type Browser, chromium } from 'playwright-core'

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
