// The places where agents work and entries are made: real states and local government areas, each with its main town and
// the town's coordinates. Do not add addresses of real people or houses.

export interface Place {
  zone: string
  state: string
  lga: string
  city: string
  longitude: number
  latitude: number
}

type Area = readonly [lga: string, city: string, longitude: number, latitude: number]

const states: readonly { state: string; zone: string; areas: readonly Area[] }[] = [
  {
    state: 'Kano',
    zone: 'North West',
    areas: [
      ['Tarauni', 'Kano', 8.54, 11.98],
      ['Wudil', 'Wudil', 8.84, 11.81],
      ['Gaya', 'Gaya', 9.0, 11.86],
      ['Bichi', 'Bichi', 8.24, 12.23],
      ['Rano', 'Rano', 8.58, 11.56],
    ],
  },
  {
    state: 'Kaduna',
    zone: 'North West',
    areas: [
      ['Kaduna North', 'Kaduna', 7.44, 10.53],
      ['Zaria', 'Zaria', 7.7, 11.07],
      ['Jema’a', 'Kafanchan', 8.29, 9.58],
      ['Kachia', 'Kachia', 7.95, 9.87],
      ['Ikara', 'Ikara', 8.22, 11.18],
    ],
  },
  {
    state: 'Sokoto',
    zone: 'North West',
    areas: [
      ['Sokoto North', 'Sokoto', 5.24, 13.06],
      ['Wurno', 'Wurno', 5.42, 13.29],
      ['Illela', 'Illela', 5.3, 13.73],
      ['Tambuwal', 'Tambuwal', 4.65, 12.41],
    ],
  },
  {
    state: 'Borno',
    zone: 'North East',
    areas: [
      ['Maiduguri', 'Maiduguri', 13.15, 11.84],
      ['Biu', 'Biu', 12.19, 10.61],
      ['Bama', 'Bama', 13.69, 11.52],
      ['Monguno', 'Monguno', 13.61, 12.67],
    ],
  },
  {
    state: 'Bauchi',
    zone: 'North East',
    areas: [
      ['Bauchi', 'Bauchi', 9.84, 10.31],
      ['Katagum', 'Azare', 10.19, 11.68],
      ['Misau', 'Misau', 10.47, 11.31],
      ['Ningi', 'Ningi', 9.57, 11.08],
    ],
  },
  {
    state: 'Adamawa',
    zone: 'North East',
    areas: [
      ['Yola North', 'Jimeta', 12.45, 9.27],
      ['Mubi North', 'Mubi', 13.27, 10.27],
      ['Numan', 'Numan', 12.03, 9.47],
      ['Ganye', 'Ganye', 12.05, 8.43],
    ],
  },
  {
    state: 'Plateau',
    zone: 'North Central',
    areas: [
      ['Jos North', 'Jos', 8.89, 9.92],
      ['Jos South', 'Bukuru', 8.86, 9.79],
      ['Pankshin', 'Pankshin', 9.44, 9.33],
      ['Shendam', 'Shendam', 9.53, 8.88],
      ['Langtang North', 'Langtang', 9.79, 9.14],
    ],
  },
  {
    state: 'Benue',
    zone: 'North Central',
    areas: [
      ['Makurdi', 'Makurdi', 8.53, 7.73],
      ['Gboko', 'Gboko', 9.0, 7.32],
      ['Otukpo', 'Otukpo', 8.13, 7.19],
      ['Katsina-Ala', 'Katsina-Ala', 9.28, 7.17],
    ],
  },
  {
    state: 'Niger',
    zone: 'North Central',
    areas: [
      ['Chanchaga', 'Minna', 6.55, 9.61],
      ['Bida', 'Bida', 6.01, 9.08],
      ['Kontagora', 'Kontagora', 5.47, 10.4],
      ['Suleja', 'Suleja', 7.18, 9.18],
    ],
  },
  {
    state: 'Lagos',
    zone: 'South West',
    areas: [
      ['Ikeja', 'Ikeja', 3.34, 6.6],
      ['Ikorodu', 'Ikorodu', 3.51, 6.62],
      ['Badagry', 'Badagry', 2.88, 6.42],
      ['Epe', 'Epe', 3.98, 6.58],
    ],
  },
  {
    state: 'Oyo',
    zone: 'South West',
    areas: [
      ['Ibadan North', 'Ibadan', 3.92, 7.4],
      ['Ogbomosho North', 'Ogbomosho', 4.25, 8.13],
      ['Iseyin', 'Iseyin', 3.6, 7.97],
      ['Saki West', 'Ṣakí', 3.39, 8.67],
    ],
  },
  {
    state: 'Osun',
    zone: 'South West',
    areas: [
      ['Osogbo', 'Òṣogbo', 4.56, 7.77],
      ['Ife Central', 'Ilé-Ifẹ̀', 4.56, 7.48],
      ['Ilesa East', 'Iléṣà', 4.74, 7.63],
      ['Iwo', 'Ìwó', 4.18, 7.63],
    ],
  },
  {
    state: 'Enugu',
    zone: 'South East',
    areas: [
      ['Enugu North', 'Enugu', 7.5, 6.44],
      ['Nsukka', 'Nsukka', 7.4, 6.86],
      ['Udi', 'Udi', 7.42, 6.32],
      ['Awgu', 'Awgu', 7.48, 6.07],
    ],
  },
  {
    state: 'Anambra',
    zone: 'South East',
    areas: [
      ['Awka South', 'Awka', 7.07, 6.21],
      ['Onitsha North', 'Onitsha', 6.79, 6.15],
      ['Nnewi North', 'Nnewi', 6.92, 6.02],
      ['Ihiala', 'Ihiala', 6.86, 5.85],
    ],
  },
  {
    state: 'Abia',
    zone: 'South East',
    areas: [
      ['Aba South', 'Aba', 7.37, 5.11],
      ['Umuahia North', 'Umuahia', 7.49, 5.53],
      ['Ohafia', 'Ebem Ohafia', 7.83, 5.63],
      ['Arochukwu', 'Arochukwu', 7.91, 5.39],
    ],
  },
  {
    state: 'Rivers',
    zone: 'South South',
    areas: [
      ['Port Harcourt', 'Port Harcourt', 7.01, 4.78],
      ['Khana', 'Bori', 7.37, 4.68],
      ['Bonny', 'Bonny', 7.17, 4.45],
      ['Ahoada East', 'Ahoada', 6.65, 5.08],
    ],
  },
  {
    state: 'Edo',
    zone: 'South South',
    areas: [
      ['Oredo', 'Benin City', 5.62, 6.33],
      ['Etsako West', 'Auchi', 6.26, 7.07],
      ['Esan West', 'Ekpoma', 6.14, 6.74],
      ['Esan North-East', 'Uromi', 6.33, 6.71],
    ],
  },
  {
    state: 'Cross River',
    zone: 'South South',
    areas: [
      ['Calabar Municipal', 'Calabar', 8.33, 4.96],
      ['Ikom', 'Ikom', 8.71, 5.96],
      ['Ogoja', 'Ogoja', 8.8, 6.66],
      ['Yakurr', 'Ugep', 8.08, 5.81],
    ],
  },
]

/** All local government areas of the demo data. Each town occurs only once in its state. */
export const places: readonly Place[] = states.flatMap(({ state, zone, areas }) =>
  areas.map(([lga, city, longitude, latitude]) => ({ zone, state, lga, city, longitude, latitude })),
)

/** Streets that are named after buildings, never after people. */
export const streets: readonly string[] = [
  'Market Road',
  'Old Market Road',
  'Station Road',
  'Mission Street',
  'Hospital Road',
  'School Lane',
  'Water Works Road',
  'Bank Road',
  'Post Office Street',
  'Stadium Road',
  'Bridge Street',
  'Court Road',
  'Palace Way',
  'Mango Close',
  'Sabon Gari Street',
  'Ƙofar Ruwa Road',
  'Ọjà Tuntun Street',
  'Òkè Odò Lane',
  'Ahịa Ọhụrụ Street',
  'Mmiri Ọma Close',
]
