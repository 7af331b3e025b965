@main enum W { static func main() {} }
