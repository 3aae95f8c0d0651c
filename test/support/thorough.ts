// How thorough a run of the tests is. By default random values are tried a few times; with THOROUGH=true, as in `.ci/nightly`, as
// often as it takes to find rare errors.
import type { Test } from 'tap'

export const isThorough = process.env.THOROUGH === 'true'

/** Adds tests that only a thorough run has. */
export const onlyThorough =
  (t: Test) =>
  (name: string, run: (t: Test) => Promise<unknown>): Promise<unknown> =>
    t.test(name, { skip: !isThorough && 'takes long: .ci/nightly has it' }, run)

export const runs = (few: number, all: number): number => (isThorough ? all : few)

/**
 * Skips a test that takes long, be it for many bytes or for a process, where `npm test` runs all files for a quick answer. It runs when
 * its file or folder is named, with `--coverage`, and so in `.ci/run`.
 */
export const leftToGate = process.env.IS_QUICK === 'true' && 'takes long: .ci/run has it, and a run that names its file'
