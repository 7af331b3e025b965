@main enum NWPath { static func main() {} }
