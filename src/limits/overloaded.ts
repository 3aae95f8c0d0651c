// The error of every limit: the work is refused now, and a later try may succeed.

export class Overloaded extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Overloaded'
  }
}
