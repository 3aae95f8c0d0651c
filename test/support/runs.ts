// How often a test tries random values: a few times by default, and as often as it takes to find rare errors with
// RANDOM_RUNS=all, as `.ci/run` does.
const isAll = process.env.RANDOM_RUNS === 'all'

export const runs = (few: number, all: number): number => (isAll ? all : few)
