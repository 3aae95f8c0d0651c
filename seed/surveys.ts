// The content of the forms: surveys with questions and their options. All texts were written for this project. No question
// may ask for a respondent's identity.

export interface Question {
  /** `multiChoice` has an array of its options as the answer, any other type one of them. */
  type: string
  question: string
  /** At least two, in most zones the most common first. */
  options: readonly string[]
  /** The option of a multiChoice question that excludes all others. */
  none: string | undefined
}

export interface Survey {
  name: string
  /** The name of the survey in another language. */
  nameAbroad?: string
  sector: string
  reason: string
  /** The months in which most of its entries are made, from 1 to 12. Without it, there are as many in all months. */
  season?: readonly number[]
  questions: readonly Question[]
}

const nones = new Set(['None', 'Nothing', 'Nobody', 'Not at all', 'No change'])

const one = (question: string, ...options: string[]): Question => ({
  type: 'singleChoice',
  question,
  options,
  none: undefined,
})
const many = (question: string, ...options: string[]): Question => ({
  type: 'multiChoice',
  question,
  options,
  none: options.find((option) => nones.has(option)),
})
const yesNo = (question: string): Question => one(question, 'Yes', 'No', 'Don’t know')

/** All surveys of the demo data. Each organisation has a form for each of them. */
export const surveys: readonly Survey[] = [
  {
    name: 'Household water survey',
    nameAbroad: 'Enquête sur l’eau des ménages',
    sector: 'Water and sanitation',
    reason: 'Baseline study',
    season: [2, 3, 4],
    questions: [
      one(
        'What is your main source of drinking water?',
        ...[
          'Borehole',
          'Protected well',
          'Piped water',
          'Sachet water',
          'Water vendor',
          'Rainwater',
          'River or stream',
        ],
      ),
      many('Which other sources do you use in the dry season?', 'Water vendor', 'Well', 'River or stream', 'None'),
      one(
        'How long does it take to fetch water and come back?',
        ...['Less than 15 minutes', '15 to 30 minutes', '30 to 60 minutes', 'More than an hour'],
      ),
      one('Who usually fetches the water?', 'Women', 'Girls', 'Boys', 'Men', 'It is delivered'),
      many('How do you treat water before you drink it?', 'Not at all', 'Boiling', 'Chlorine', 'Filter', 'Alum'),
      one('How is drinking water stored?', 'Covered container', 'Open container', 'Overhead tank', 'Not stored'),
      one('How many litres does the household use in a day?', 'Under 50', '50 to 100', '100 to 200', 'Over 200'),
      yesNo('Was the source out of order in the last two weeks?'),
    ],
  },
  {
    name: 'Primary health facility assessment',
    nameAbroad: 'تقييم مراكز الرعاية الصحية الأولية',
    sector: 'Health',
    reason: 'Yearly inspection of service readiness',
    questions: [
      one('Who runs the facility?', 'Local government', 'State', 'Faith-based body', 'Private owner', 'Community'),
      many(
        'Which services are offered today?',
        ...['Antenatal care', 'Child welfare', 'Family planning', 'Delivery', 'Malaria treatment', 'Laboratory'],
      ),
      many('Which health workers are on duty?', 'CHEW', 'Nurse', 'Midwife', 'Pharmacy technician', 'Doctor'),
      one('Where does the facility’s power come from?', 'Grid', 'Solar', 'Generator', 'No power'),
      many('Which medicines are in stock?', 'Paracetamol', 'ACT', 'ORS and zinc', 'Amoxicillin', 'Oxytocin'),
      one('In what condition is the vaccine refrigerator?', 'Working', 'Broken', 'None on site'),
      one('How many patients came yesterday?', '11 to 30', '1 to 10', '31 to 60', 'More than 60', 'None'),
      yesNo('Is there a separate toilet for women?'),
      one('How far is the nearest hospital?', 'Under 5 km', '5 to 15 km', '15 to 30 km', 'Over 30 km'),
    ],
  },
  {
    name: 'School census',
    sector: 'Education',
    reason: 'Planning of the coming school year',
    questions: [
      one(
        'What kind of school is this?',
        'Public primary',
        'Private primary',
        'Junior secondary',
        'Qur’anic',
        'Nomadic',
      ),
      one('How many pupils are enrolled?', '100 to 300', 'Under 100', '300 to 600', 'Over 600'),
      one('How many pupils share a classroom?', '41 to 60', '21 to 40', 'Up to 20', 'Over 60'),
      many('What do most pupils sit on?', 'Benches', 'Desks', 'Mats', 'Floor'),
      many('What is missing most?', 'Textbooks', 'Furniture', 'Teachers', 'Toilets', 'Water', 'Roof repairs'),
      one('Is a meal served at school?', 'Every day', 'Some days', 'Never'),
      many('Why do pupils stay away?', 'Farm work', 'Fees', 'Illness', 'Distance', 'Market day', 'Insecurity'),
      yesNo('Does the school have a working water point?'),
    ],
  },
  {
    name: 'Crop yield survey',
    sector: 'Agriculture',
    reason: 'Estimate of the main season’s harvest',
    season: [11, 12, 1],
    questions: [
      one('What is the main crop on this plot?', 'Maize', 'Cassava', 'Sorghum', 'Rice', 'Yam', 'Millet', 'Cowpea'),
      many('Which crops are grown beside it?', 'Cowpea', 'Groundnut', 'Vegetables', 'Melon', 'None'),
      one('How large is the plot?', 'Under 1 ha', '1 to 2 ha', '2 to 5 ha', 'Over 5 ha'),
      one('How was the harvest against last year?', 'About the same', 'Worse', 'Better', 'Lost altogether'),
      many('What reduced the yield?', 'Late rain', 'Fall armyworm', 'Weeds', 'Flood', 'Grazing', 'Striga', 'Nothing'),
      many('What did you apply?', 'NPK', 'Manure', 'Urea', 'Herbicide', 'Nothing'),
      one('Where did the seed come from?', 'Own store', 'Market', 'Agro-dealer', 'Government', 'Neighbour'),
      one('What will you do with most of the harvest?', 'Eat it', 'Sell it', 'Store it', 'Pay debts'),
      yesNo('Did an extension officer visit this season?'),
    ],
  },
  {
    name: 'Market price monitor',
    nameAbroad: '市场价格调查',
    sector: 'Food security',
    reason: 'Weekly watch on staple prices',
    questions: [
      one('What kind of market is this?', 'Weekly rural market', 'Daily urban market', 'Wholesale market'),
      one('Price of a mudu of white maize?', '₦800 to ₦1,200', '₦1,200 to ₦1,600', 'Under ₦800', 'Over ₦1,600'),
      one('Price of a mudu of local rice?', '₦2,000 to ₦2,800', 'Under ₦2,000', 'Over ₦2,800', 'Not on sale'),
      one('Price of a bottle of palm oil?', '₦900 to ₦1,400', 'Under ₦900', 'Over ₦1,400', 'Not on sale'),
      many('Which staples are scarce this week?', 'None', 'Beans', 'Tomatoes', 'Yam', 'Onions', 'Millet'),
      many('Why have prices changed?', 'Transport', 'Season', 'Fuel', 'Roadblocks', 'Festival', 'No change'),
      one('How do most traders take payment?', 'Cash', 'Transfer', 'POS', 'Credit'),
    ],
  },
  {
    name: 'Childhood immunisation coverage',
    nameAbroad: 'Couverture vaccinale des enfants',
    sector: 'Health',
    reason: 'Check after the immunisation week',
    questions: [
      one('How old is the youngest child?', '1 to 2 years', 'Under 1 year', '3 to 5 years'),
      one('Is there an immunisation card?', 'Yes, seen', 'Yes, not seen', 'No'),
      many('Which vaccines has the child had?', 'BCG', 'OPV', 'Penta', 'Measles', 'Yellow fever', 'Meningitis A'),
      one('Where was the last dose given?', 'Health centre', 'At home', 'Outreach post', 'School', 'Hospital'),
      many(
        'What kept the child from a dose?',
        ...['Nothing', 'No vaccine', 'Distance', 'Long queue', 'Fear of fever', 'Did not know', 'Family refused'],
      ),
      many(
        'How did you hear of the campaign?',
        'Town announcer',
        'Radio',
        'Mosque or church',
        'Health worker',
        'Phone',
      ),
      yesNo('Was the child’s finger marked?'),
    ],
  },
  {
    name: 'Power access survey',
    sector: 'Energy',
    reason: 'Choice of sites for mini-grids',
    questions: [
      one('What is the main source of light at night?', 'Torch', 'Grid', 'Solar lantern', 'Generator', 'Kerosene lamp'),
      one('How many hours of grid power came yesterday?', '1 to 4', 'None', '5 to 10', 'More than 10', 'Not connected'),
      many('Which appliances are in use?', 'Phone', 'Radio', 'Fan', 'Television', 'Refrigerator', 'Iron', 'Pump'),
      one('What is spent on energy in a month?', '₦5,000 to ₦15,000', 'Under ₦5,000', '₦15,000 to ₦40,000', 'More'),
      one('How is electricity billed?', 'Estimate', 'Prepaid meter', 'Postpaid meter', 'Flat rate', 'Not billed'),
      many('What would steady power be used for?', 'Cold drinks', 'Milling', 'Welding', 'Studying', 'Irrigation'),
      yesNo('Would you pay more for power all day?'),
    ],
  },
  {
    name: 'Road condition survey',
    sector: 'Transport',
    reason: 'Order of repairs before the rains',
    season: [1, 2, 3],
    questions: [
      one('What is the surface?', 'Laterite', 'Asphalt', 'Earth', 'Gravel', 'Concrete'),
      one('In what condition is it?', 'Poor', 'Fair', 'Good', 'Impassable'),
      many('What damage do you see?', 'Potholes', 'Gullies', 'Broken edges', 'Blocked drains', 'Washed-out culvert'),
      many('Who can pass in the rainy season?', 'Pedestrians', 'Motorcycles', 'Cars', 'Lorries', 'Nobody'),
      one('How wide is the carriageway?', 'One lane', 'Two lanes', 'Footpath only', 'More than two lanes'),
      many('What does the road lead to?', 'Market', 'School', 'Farm land', 'Health centre', 'River crossing'),
      one('When was it last repaired?', 'More than 5 years ago', '1 to 5 years ago', 'This year', 'Never'),
    ],
  },
  {
    name: 'Sanitation and hygiene survey',
    nameAbroad: 'مسح الصرف الصحي والنظافة',
    sector: 'Water and sanitation',
    reason: 'Follow-up in communities declared free of open defecation',
    questions: [
      one('What kind of toilet is used?', 'Pit latrine with slab', 'Open pit', 'Flush', 'Public toilet', 'None'),
      one('How many households share it?', 'Not shared', '2 to 3', '4 to 6', 'More than 6'),
      one('Is there a place to wash hands?', 'Yes, with soap', 'Yes, without soap', 'No'),
      many(
        'When do people wash their hands?',
        'Before eating',
        'After the toilet',
        'Before cooking',
        'After farm work',
      ),
      many('Where does rubbish go?', 'Burnt', 'Dump', 'Buried', 'Collected', 'Fed to animals'),
      one('Where does waste water go?', 'Open drain', 'Yard', 'Soakaway', 'Street'),
      yesNo('Are there flies in the latrine?'),
    ],
  },
  {
    name: 'Small business survey',
    sector: 'Livelihoods',
    reason: 'Design of a loan scheme',
    questions: [
      one('What does the business do?', 'Trade', 'Food', 'Tailoring', 'Repairs', 'Processing', 'Transport', 'Salon'),
      one('How many people work in it?', '1', '2 to 3', '4 to 9', '10 or more'),
      one('How old is the business?', '1 to 3 years', 'Over 3 years', 'Under a year'),
      many('Where did the money to start come from?', 'Savings', 'Family', 'Adashe or esusu', 'Bank', 'Cooperative'),
      many('What holds the business back?', 'Capital', 'Power', 'Rent', 'Few customers', 'Levies', 'Bad road'),
      many('Which records are kept?', 'None', 'Notebook', 'Phone', 'Receipts', 'Computer'),
      one('How have sales been this month?', 'As usual', 'Lower', 'Higher'),
      yesNo('Is the business registered?'),
    ],
  },
]
