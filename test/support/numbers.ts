// What is a number where somebody typed it, and what is none: the same for the service, its pages and examples.
export const NUMBERS: Readonly<Record<string, number>> = {
  ...{ '5': 5, '0': 0, '007': 7, '-12': -12, '2.50': 2.5, '-0.5': -0.5, '3e+05': 300_000, '1E3': 1000, '2.5e-1': 0.25 },
  ...{ ' 5': 5, '5 ': 5, ' \t5\r\n': 5, '1e-999': 0, [`${'9'.repeat(30)}.5`]: 1e30, [`1${' '.repeat(99)}`]: 1 },
}

export const NO_NUMBERS: readonly string[] = [
  ...['', ' ', '-', '+5', '.5', '5.', '-.5', '1e', '1e+', 'e5', '1e5.5', '1e999', '-1e999', '1,5', '1 000', '1_000'],
  ...[
    '0x10',
    '0b1',
    '1n',
    'NaN',
    'Infinity',
    '- 5',
    '--5',
    '5%',
    '5a',
    'five',
    '\u0665',
    '\uff15',
    '\u22125',
    '\u00a05',
  ],
  ...['5\0', '5\u2028', `1${' '.repeat(100)}`, '1'.repeat(101), `${' '.repeat(200_000)}x`, `${'1'.repeat(200_000)}x`],
]
