// How thorough a run of the tests is. By default random values are tried a few times; with THOROUGH=true, as in `.ci/nightly`, as
// often as it takes to find rare errors.
export const isThorough = process.env.THOROUGH === 'true'

export const runs = (few: number, all: number): number => (isThorough ? all : few)
