// Opens the store on MongoDB. A URI that the driver rejects is reported as an invalid setting.
import { mongoStore } from '../store/mongo.js'
import type { Store } from '../store/store.js'
import { type Config, ConfigError } from './config.js'

export const openMongo = (settings: NonNullable<Config['mongo']>): Store => {
  try {
    return mongoStore(settings)
  } catch (error) {
    throw new ConfigError([`MONGODB_URI cannot be used: ${(error as Error).message}`])
  }
}
