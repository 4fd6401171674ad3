select secret from read_csv('people.csv')
